// A program that uses the client of openapi-typescript and openapi-fetch, with their defaults.
// It prints what it received as JSON; tests/openapi/test_clients.py checks that.

import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { env: Record<"SERVICE_URL" | "API_KEY", string> };

type RecipientField = components["schemas"]["RecipientField"];

const BATCHES = "/api/v1/recipient_field_batches";
const FIELDS = "/api/v1/recipient_fields";
const client = createClient<paths>({
  baseUrl: process.env.SERVICE_URL,
  headers: { Authorization: `Bearer ${process.env.API_KEY}` },
});

async function filtered(): Promise<RecipientField[]> {
  const { data, error } = await client.GET(FIELDS, {
    params: { query: { source: ["api", "manual"], data_type: ["text", "number"] } },
  });
  if (error) throw new Error(JSON.stringify(error));
  return data.recipient_fields;
}

async function create(name: string, key?: string) {
  return client.POST(FIELDS, { body: { recipient_field: { name, key, data_type: "number" } } });
}

async function allPages(): Promise<RecipientField[]> {
  const fields: RecipientField[] = [];
  let cursor: string | undefined;
  do {
    const { data, error, response } = await client.GET(FIELDS, {
      params: { query: { source: ["api", "manual"], sort: "-id", limit: 1, cursor } },
    });
    if (error) throw new Error(JSON.stringify(error));
    fields.push(...data.recipient_fields);
    cursor = nextCursor(response);
  } while (cursor !== undefined);
  return fields;
}

function nextCursor(response: Response): string | undefined {
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "");
  if (next === null) return undefined;
  return new URL(next[1], response.url).searchParams.get("cursor") ?? undefined;
}

const keys = (fields: RecipientField[]) => fields.map((field) => field.key);

const before = await filtered();
const created = await create("Shoe size");
const taken = await create("Shoe size");
const invalid = await create(" ", "Shoe-Size");
const pages = keys(await allPages());
const applied = await client.POST(BATCHES, {
  body: {
    operations: [
      { operation: "create", recipient_field: { name: "Hat size", data_type: "number" } },
      { operation: "update", reference: "shoe_size", recipient_field: { name: "Feet" } },
      { operation: "delete", reference: "loyalty_tier" },
    ],
  },
});
const failed = await client.POST(BATCHES, {
  body: { operations: [{ operation: "delete", reference: 1 }] },
});
const compiled = await client.POST("/api/v1/condition_compilations", {
  body: {
    condition: { not: { field: "preferred_shop", op: "contains", value: "Bern" } },
    esp: "sendgrid",
    then: "A",
    else: "B",
  },
});
const exported = await client.POST("/api/v1/content_exports", {
  body: { content: "Hello", esp: "braze" },
});
const checked = await client.POST("/api/v1/recipient_checks", {
  body: { recipients: [{ shoe_size: 39 }, { shoe_size: "39" }] },
});

console.log(
  JSON.stringify({
    filtered: keys(before),
    created: created.data?.recipient_field.key,
    taken: [taken.response.status, taken.error?.error.code, taken.error?.error.details],
    invalid: [
      invalid.response.status,
      invalid.error?.error.code,
      invalid.error?.error.details?.map(({ pointer, code }) => [pointer, code]),
    ],
    pages,
    applied: [
      ...(applied.data?.results ?? []).map((result) =>
        "recipient_field" in result ? (result.recipient_field?.name ?? null) : result.key,
      ),
    ],
    failed: [
      failed.response.status,
      failed.error?.error.details?.map(({ pointer, code }) => [pointer, code]),
    ],
    compiled: [compiled.response.status, compiled.error?.error.code],
    exported:
      exported.data && "content" in exported.data && [exported.data.content, exported.data.fields],
    checked: checked.data?.results.map(({ valid }) => valid),
  }),
);
