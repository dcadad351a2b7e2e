-- Create the roles and the database of the service. psql runs this file as a superuser, and reads both passwords
-- from the environment: OWNER_PASSWORD and SERVICE_PASSWORD.
\set ON_ERROR_STOP on
\getenv owner_password OWNER_PASSWORD
\getenv service_password SERVICE_PASSWORD

CREATE ROLE recipient_fields_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE recipient_fields_service LOGIN PASSWORD :'service_password';
ALTER ROLE recipient_fields_service SET statement_timeout = '2500ms';
ALTER ROLE recipient_fields_service SET lock_timeout = '1s';
CREATE DATABASE recipient_fields OWNER recipient_fields_owner ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE recipient_fields FROM PUBLIC;
GRANT CONNECT ON DATABASE recipient_fields TO recipient_fields_service;

\connect recipient_fields
ALTER SCHEMA public OWNER TO recipient_fields_owner;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO recipient_fields_service;
ALTER DEFAULT PRIVILEGES FOR ROLE recipient_fields_owner IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO recipient_fields_service;
