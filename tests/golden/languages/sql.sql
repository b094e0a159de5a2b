-- People who may sign in.
CREATE TABLE IF NOT EXISTS public.users (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL
);
CREATE VIEW active_users AS SELECT * FROM users;
CREATE INDEX users_by_name ON users (name);
CREATE OR REPLACE FUNCTION add_user(n text) RETURNS void AS $$ BEGIN INSERT INTO users VALUES (1); END; $$ LANGUAGE plpgsql;
CREATE TRIGGER users_changed BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TYPE mood AS ENUM ('calm', 'tense');
CREATE SEQUENCE user_ids;
CREATE MATERIALIZED VIEW user_counts AS SELECT 1;
SELECT 1;
