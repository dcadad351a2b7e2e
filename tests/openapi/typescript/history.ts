// A program that deletes and restores a field, and reads the history, with the client of
// openapi-typescript and openapi-fetch. It prints what it received as JSON;
// tests/openapi/test_clients.py checks that.

import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { env: Record<"SERVICE_URL" | "API_KEY", string> };

type HistoryRecord = components["schemas"]["HistoryRecord"];

const FIELDS = "/api/v1/recipient_fields";
const FIELD = "/api/v1/recipient_fields/{id_or_key}";
const CHANGES_OF_FIELD = "/api/v1/recipient_fields/{id_or_key}/changes";
const RESTORATION = "/api/v1/recipient_fields/{id}/restore";
const CHANGES = "/api/v1/recipient_field_changes";

const client = createClient<paths>({
  baseUrl: process.env.SERVICE_URL,
  headers: { Authorization: `Bearer ${process.env.API_KEY}` },
});

async function allChanges(): Promise<HistoryRecord[]> {
  const records: HistoryRecord[] = [];
  while (true) {
    const after = records.at(-1)?.sequence ?? 0;
    const { data, error } = await client.GET(CHANGES, { params: { query: { after, limit: 2 } } });
    if (error) throw new Error(JSON.stringify(error));
    if (data.recipient_field_changes.length === 0) return records;
    records.push(...data.recipient_field_changes);
  }
}

const restore = (id: number) => client.POST(RESTORATION, { params: { path: { id } } });

await client.DELETE(FIELD, { params: { path: { id_or_key: "loyalty_tier" } } });
const restored = await restore(1);
const again = await restore(1);
const records = await allChanges();
const [deletion, restoration] = records.slice(-2);
const ofField = await client.GET(CHANGES_OF_FIELD, {
  params: { path: { id_or_key: "1" }, query: { operation: ["deleted", "restored"] } },
});
const then = await client.GET(FIELDS, { params: { query: { as_of: deletion.occurred_at } } });

console.log(
  JSON.stringify({
    operations: records.map((record) => record.operation),
    ofField: ofField.data?.recipient_field_changes.map((record) => record.sequence),
    deletion: [deletion.actor.channel, deletion.before?.key, deletion.after],
    restoration: [restoration.before, restoration.after?.updated_at],
    restored: restored.data?.recipient_field.updated_at,
    again: [again.response.status, again.error?.error.code],
    then: then.data?.recipient_fields.map((field) => field.key),
  }),
);
