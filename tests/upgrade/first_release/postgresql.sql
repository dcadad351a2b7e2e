--
-- PostgreSQL database dump
--


-- Dumped from database version 18.4
-- Dumped by pg_dump version 18.4

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: api_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_keys (
    id bigint NOT NULL,
    organization_id bigint NOT NULL,
    name text NOT NULL,
    access text NOT NULL,
    digest bytea NOT NULL,
    display text NOT NULL,
    created_at timestamp(3) with time zone NOT NULL,
    expires_at timestamp(3) with time zone,
    last_used_at timestamp(3) with time zone,
    revoked_at timestamp(3) with time zone,
    CONSTRAINT api_keys_access CHECK ((access = ANY (ARRAY['read_write'::text, 'read_only'::text]))),
    CONSTRAINT api_keys_digest CHECK ((octet_length(digest) = 32))
);


--
-- Name: api_keys_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.api_keys ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.api_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);


--
-- Name: integrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.integrations (
    id bigint NOT NULL,
    organization_id bigint NOT NULL,
    esp text NOT NULL,
    name text NOT NULL,
    created_at timestamp(3) with time zone NOT NULL,
    last_synced_at timestamp(3) with time zone
);


--
-- Name: integrations_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.integrations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.integrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);


--
-- Name: organizations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.organizations (
    id bigint NOT NULL,
    name text NOT NULL,
    revision bigint NOT NULL,
    created_at timestamp(3) with time zone NOT NULL
);


--
-- Name: organizations_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.organizations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.organizations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);


--
-- Name: recipient_fields; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.recipient_fields (
    id bigint NOT NULL,
    organization_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    folded_name text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    data_type text NOT NULL,
    allowed_values json,
    insertable boolean NOT NULL,
    source text NOT NULL,
    integration_id bigint,
    esp_field_name text,
    folded_esp_field_name text COLLATE pg_catalog."C",
    custom_insertion_code text,
    custom_value_expression text,
    created_at timestamp(3) with time zone NOT NULL,
    updated_at timestamp(3) with time zone NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT recipient_fields_allowed_values CHECK (((allowed_values IS NULL) OR ((data_type <> 'boolean'::text) AND (json_typeof(allowed_values) = 'array'::text)))),
    CONSTRAINT recipient_fields_data_type CHECK ((data_type = ANY (ARRAY['text'::text, 'number'::text, 'boolean'::text, 'date'::text, 'datetime'::text]))),
    CONSTRAINT recipient_fields_esp_field_name CHECK (((source = 'integration'::text) = (esp_field_name IS NOT NULL))),
    CONSTRAINT recipient_fields_integration_id CHECK (((source = 'integration'::text) = (integration_id IS NOT NULL))),
    CONSTRAINT recipient_fields_source CHECK ((source = ANY (ARRAY['api'::text, 'manual'::text, 'integration'::text]))),
    CONSTRAINT recipient_fields_times CHECK ((updated_at >= created_at)),
    CONSTRAINT recipient_fields_version CHECK ((version >= 1))
);


--
-- Name: recipient_fields_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.recipient_fields ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.recipient_fields_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 9007199254740991
    CACHE 1
);


--
-- Name: schema_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schema_migrations (
    name text NOT NULL COLLATE pg_catalog."C",
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_keys OVERRIDING SYSTEM VALUE VALUES (4, 1, 'Expired', 'read_write', '\x90883ce93e3a9c17f838c6fabbbea8d295e580164e7d4b4e001aab09e52995f4', 'rfk_3FDY…Wo4S', '2026-11-23 19:31:45.837+00', '2026-11-23 19:31:46.837+00', NULL, NULL);
INSERT INTO public.api_keys OVERRIDING SYSTEM VALUE VALUES (5, 1, 'Rotated', 'read_write', '\x5e5290a9269bb2b7082e7a8a922db6dc2fd35dde7211bdb37c1bc112c4ed1890', 'rfk_Btnk…PWl4', '2026-11-23 19:31:48.063+00', '2026-11-23 19:31:50.881+00', NULL, NULL);
INSERT INTO public.api_keys OVERRIDING SYSTEM VALUE VALUES (3, 1, 'Revoked', 'read_write', '\x92ac26cb7aad7a6c33b851a3ec8f3233f237c1715d1258cd4224d75db93d156a', 'rfk_pJpF…PJkk', '2026-11-23 19:31:43.764+00', NULL, NULL, '2026-11-23 19:31:53.471+00');
INSERT INTO public.api_keys OVERRIDING SYSTEM VALUE VALUES (8, 3, 'Never used', 'read_write', '\x78fea3f94ec91f8a48092c86e3a0de91fc571f20455d02bf0764d6643834168a', 'rfk_SKFi…Pr7S', '2026-11-23 19:31:59.549+00', NULL, NULL, NULL);
INSERT INTO public.api_keys OVERRIDING SYSTEM VALUE VALUES (1, 1, 'Active', 'read_write', '\x992c3951479349460da15ef09c8f9cf531063057d4008d11f1e9d673320bf4d5', 'rfk_4vrm…ufBW', '2026-11-23 19:31:38.349+00', NULL, '2026-11-23 19:32:00.342+00', NULL);
INSERT INTO public.api_keys OVERRIDING SYSTEM VALUE VALUES (7, 2, 'Other organization', 'read_write', '\x5476443639400905667e669b9ed909d2198b9154af817868e2d73dd78c67d0c7', 'rfk_r0pD…JpTX', '2026-11-23 19:31:56.276+00', NULL, '2026-11-23 19:32:43.236+00', NULL);
INSERT INTO public.api_keys OVERRIDING SYSTEM VALUE VALUES (2, 1, 'Read-only · 東京', 'read_only', '\x961cbb70f97e7c0b3a19c2b46176ecf7b629a5b0d1f4bf5f301abbc1b80e4e47', 'rfk_gBWv…ARJ7', '2026-11-23 19:31:40.928+00', NULL, '2026-11-23 19:32:56.469+00', NULL);
INSERT INTO public.api_keys OVERRIDING SYSTEM VALUE VALUES (6, 1, 'Rotated', 'read_write', '\x64816cacfb9715e487ee2987b89309b65f22e9c8fb8d6af6525fdda75d0a7c75', 'rfk_bf74…qOKO', '2026-11-23 19:31:50.881+00', NULL, '2026-11-23 19:32:56.508+00', NULL);


--
-- Data for Name: integrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.integrations OVERRIDING SYSTEM VALUE VALUES (1, 1, 'braze', 'Braze · Größe 東京', '2026-11-23 19:32:32.133+00', '2026-11-23 19:32:40.416+00');
INSERT INTO public.integrations OVERRIDING SYSTEM VALUE VALUES (2, 1, 'klaviyo', 'Never synced', '2026-11-23 19:32:42.478+00', NULL);
INSERT INTO public.integrations OVERRIDING SYSTEM VALUE VALUES (3, 2, 'sfmc', 'المشتركون', '2026-11-23 19:32:44.584+00', '2026-11-23 19:32:45.718+00');


--
-- Data for Name: organizations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.organizations OVERRIDING SYSTEM VALUE VALUES (3, 'Acme', 1795462296539, '2026-11-23 19:31:36.539+00');
INSERT INTO public.organizations OVERRIDING SYSTEM VALUE VALUES (1, 'Acme', 1795462360447, '2026-11-23 19:31:29.957+00');
INSERT INTO public.organizations OVERRIDING SYSTEM VALUE VALUES (2, 'Überlandwerk 東京 🚲', 1795462365733, '2026-11-23 19:31:33.536+00');


--
-- Data for Name: recipient_fields; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (1, 1, 'Text from the API', 'text from the api', 'text_from_the_api', 'text', '["gold", "silver", "Größe", "東京", "🚲", "a \"quoted\" value, with a comma", "<b>&amp;"]', true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:00.373+00', '2026-11-23 19:32:00.373+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (2, 1, 'Any text', 'any text', 'any_text', 'text', NULL, true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:00.409+00', '2026-11-23 19:32:00.409+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (3, 1, 'Manual text', 'manual text', 'manual_text', 'text', '["gold", "silver", "Größe", "東京", "🚲", "a \"quoted\" value, with a comma", "<b>&amp;"]', true, 'manual', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:03.003+00', '2026-11-23 19:32:03.003+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (4, 1, 'Number from the API', 'number from the api', 'number_from_the_api', 'number', '[0, -1, 0.5, 1e-07, 12345.678, 9007199254740991, -9007199254740991]', true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:04.202+00', '2026-11-23 19:32:04.202+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (5, 1, 'Any number', 'any number', 'any_number', 'number', NULL, true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:04.232+00', '2026-11-23 19:32:04.232+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (6, 1, 'Manual number', 'manual number', 'manual_number', 'number', '[0, -1, 0.5, 1e-07, 12345.678, 9007199254740991, -9007199254740991]', true, 'manual', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:07.021+00', '2026-11-23 19:32:07.021+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (7, 1, 'Date from the API', 'date from the api', 'date_from_the_api', 'date', '["2024-02-29", "1900-01-01", "9999-12-31"]', true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:08.283+00', '2026-11-23 19:32:08.283+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (8, 1, 'Any date', 'any date', 'any_date', 'date', NULL, true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:08.303+00', '2026-11-23 19:32:08.303+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (9, 1, 'Manual date', 'manual date', 'manual_date', 'date', '["2024-02-29", "1900-01-01", "9999-12-31"]', true, 'manual', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:10.784+00', '2026-11-23 19:32:10.784+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (10, 1, 'Datetime from the API', 'datetime from the api', 'datetime_from_the_api', 'datetime', '["2026-11-20T09:15:00.000Z", "2026-11-20T03:45:00.123Z"]', true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:11.558+00', '2026-11-23 19:32:11.558+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (11, 1, 'Any datetime', 'any datetime', 'any_datetime', 'datetime', NULL, true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:11.578+00', '2026-11-23 19:32:11.578+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (12, 1, 'Manual datetime', 'manual datetime', 'manual_datetime', 'datetime', '["2026-11-20T09:15:00.000Z", "2026-11-20T03:45:00.123Z"]', true, 'manual', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:14.584+00', '2026-11-23 19:32:14.584+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (13, 1, 'Boolean from the API', 'boolean from the api', 'boolean_from_the_api', 'boolean', NULL, true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:15.377+00', '2026-11-23 19:32:15.377+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (14, 1, 'Any boolean', 'any boolean', 'any_boolean', 'boolean', NULL, true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:15.393+00', '2026-11-23 19:32:15.393+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (15, 1, 'Manual boolean', 'manual boolean', 'manual_boolean', 'boolean', NULL, true, 'manual', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:17.817+00', '2026-11-23 19:32:17.817+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (16, 1, 'Loyalty', 'loyalty', 'loyalty', 'text', NULL, true, 'api', NULL, NULL, NULL, '{{ customer.loyalty | default: ''none'' }} … {% raw %}
	%%x%%', 'customer[''loyalty''] == "gold"', '2026-11-23 19:32:18.563+00', '2026-11-23 19:32:18.563+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (17, 1, 'Hidden', 'hidden', 'hidden', 'text', NULL, false, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:18.641+00', '2026-11-23 19:32:18.641+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (18, 1, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 'text', NULL, true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:18.673+00', '2026-11-23 19:32:18.673+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (19, 1, 'Many values', 'many values', 'many_values', 'text', '["value 0", "value 1", "value 2", "value 3", "value 4", "value 5", "value 6", "value 7", "value 8", "value 9", "value 10", "value 11", "value 12", "value 13", "value 14", "value 15", "value 16", "value 17", "value 18", "value 19", "value 20", "value 21", "value 22", "value 23", "value 24", "value 25", "value 26", "value 27", "value 28", "value 29", "value 30", "value 31", "value 32", "value 33", "value 34", "value 35", "value 36", "value 37", "value 38", "value 39", "value 40", "value 41", "value 42", "value 43", "value 44", "value 45", "value 46", "value 47", "value 48", "value 49", "value 50", "value 51", "value 52", "value 53", "value 54", "value 55", "value 56", "value 57", "value 58", "value 59", "value 60", "value 61", "value 62", "value 63", "value 64", "value 65", "value 66", "value 67", "value 68", "value 69", "value 70", "value 71", "value 72", "value 73", "value 74", "value 75", "value 76", "value 77", "value 78", "value 79", "value 80", "value 81", "value 82", "value 83", "value 84", "value 85", "value 86", "value 87", "value 88", "value 89", "value 90", "value 91", "value 92", "value 93", "value 94", "value 95", "value 96", "value 97", "value 98", "value 99"]', true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:18.703+00', '2026-11-23 19:32:18.703+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (30, 2, 'Имя · 😀', 'имя · 😀', 'name', 'text', NULL, true, 'api', NULL, NULL, NULL, NULL, 'имя ≠ ''☃''', '2026-11-23 19:32:43.256+00', '2026-11-23 19:32:43.256+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (31, 2, 'Café Größe', 'café grösse', 'cafe_grosse', 'text', NULL, true, 'api', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:43.265+00', '2026-11-23 19:32:43.265+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (20, 1, 'New name', 'new name', 'old_name', 'text', NULL, false, 'api', NULL, NULL, NULL, '{{ customer.loyalty | default: ''none'' }} … {% raw %}
	%%x%%', 'customer[''loyalty''] == "gold"', '2026-11-23 19:32:18.729+00', '2026-11-23 19:32:18.946+00', 4);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (21, 1, 'New', 'new', 'manual_changed', 'text', NULL, false, 'manual', NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:32:21.387+00', '2026-11-23 19:32:23.726+00', 2);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (24, 1, 'points', 'points', 'points', 'number', '[1, 2.5]', true, 'integration', 1, 'points', 'points', '{{custom_attribute.${points}}}', 'custom_attribute.${points}', '2026-11-23 19:32:34.92+00', '2026-11-23 19:32:34.92+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (25, 1, 'is_member', 'is_member', 'is_member', 'boolean', NULL, true, 'integration', 1, 'is_member', 'is_member', '{{custom_attribute.${is_member}}}', 'custom_attribute.${is_member}', '2026-11-23 19:32:34.92+00', '2026-11-23 19:32:34.92+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (26, 1, 'birthday', 'birthday', 'birthday', 'date', NULL, true, 'integration', 1, 'birthday', 'birthday', '{{custom_attribute.${birthday}}}', 'custom_attribute.${birthday}', '2026-11-23 19:32:34.92+00', '2026-11-23 19:32:34.92+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (27, 1, 'last_order', 'last_order', 'last_order', 'datetime', '["2026-11-20T09:15:00.000Z"]', true, 'integration', 1, 'last_order', 'last_order', '{{custom_attribute.${last_order}}}', 'custom_attribute.${last_order}', '2026-11-23 19:32:34.92+00', '2026-11-23 19:32:34.92+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (23, 1, 'Tarif', 'tarif', 'plan', 'text', '["S", "M"]', true, 'integration', 1, 'plan', 'plan', '{{custom_attribute.${plan}}}', 'custom_attribute.${plan}', '2026-11-23 19:32:34.92+00', '2026-11-23 19:32:40.416+00', 2);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (29, 2, '名前', '名前', 'text_from_the_api', 'text', NULL, true, 'api', NULL, NULL, NULL, '{{ 名前 }}', NULL, '2026-11-23 19:32:43.238+00', '2026-11-23 19:32:43.238+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (32, 2, 'First Name', 'first name', 'first_name', 'text', NULL, true, 'integration', 3, 'First Name', 'first name', '%%=v(@First_Name)=%%', '@First_Name', '2026-11-23 19:32:45.718+00', '2026-11-23 19:32:45.718+00', 1);
INSERT INTO public.recipient_fields OVERRIDING SYSTEM VALUE VALUES (33, 2, 'Strasse', 'strasse', 'strasse', 'text', NULL, true, 'integration', 3, 'Straße', 'strasse', '%%=v(@Stra_e)=%%', '@Stra_e', '2026-11-23 19:32:45.718+00', '2026-11-23 19:32:45.718+00', 1);


--
-- Data for Name: schema_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.schema_migrations VALUES ('0001_initial', '2026-11-23 19:31:25.515091+00');
INSERT INTO public.schema_migrations VALUES ('0002_integrations', '2026-11-23 19:31:25.570798+00');


--
-- Name: api_keys_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.api_keys_id_seq', 9, true);


--
-- Name: integrations_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.integrations_id_seq', 4, true);


--
-- Name: organizations_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.organizations_id_seq', 4, true);


--
-- Name: recipient_fields_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.recipient_fields_id_seq', 34, true);


--
-- Name: api_keys api_keys_digest_once; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_digest_once UNIQUE (digest);


--
-- Name: api_keys api_keys_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pk PRIMARY KEY (id);


--
-- Name: integrations integrations_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.integrations
    ADD CONSTRAINT integrations_pk PRIMARY KEY (id);


--
-- Name: organizations organizations_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.organizations
    ADD CONSTRAINT organizations_pk PRIMARY KEY (id);


--
-- Name: recipient_fields recipient_fields_key_once; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.recipient_fields
    ADD CONSTRAINT recipient_fields_key_once UNIQUE (organization_id, key);


--
-- Name: recipient_fields recipient_fields_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.recipient_fields
    ADD CONSTRAINT recipient_fields_pk PRIMARY KEY (organization_id, id);


--
-- Name: schema_migrations schema_migrations_pk; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pk PRIMARY KEY (name);


--
-- Name: api_keys_by_organization; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX api_keys_by_organization ON public.api_keys USING btree (organization_id);


--
-- Name: integrations_by_organization; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX integrations_by_organization ON public.integrations USING btree (organization_id);


--
-- Name: api_keys api_keys_organization; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_organization FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: integrations integrations_organization; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.integrations
    ADD CONSTRAINT integrations_organization FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- Name: recipient_fields recipient_fields_organization; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.recipient_fields
    ADD CONSTRAINT recipient_fields_organization FOREIGN KEY (organization_id) REFERENCES public.organizations(id);


--
-- PostgreSQL database dump complete
--


