-- session_columns: The columns of a session.
administrator_sessions.id, administrator_id, digest, user_agent,
{milliseconds(administrator_sessions.created_at)}, {milliseconds(last_used_at)}

-- select_sessions: Select the sessions of an account by ascending id.
SELECT {session_columns} FROM administrator_sessions
WHERE administrator_id = :administrator_id ORDER BY id

-- select_session: Select the session with this digest, and its administrator.
SELECT {session_columns}, {administrator_columns}
FROM administrator_sessions JOIN administrators ON administrators.id = administrator_id
WHERE digest = :digest

-- insert_session: Insert a session if the account has this hash. Wait for changes of the account.
INSERT INTO administrator_sessions (
    administrator_id, digest, user_agent, created_at, last_used_at
)
SELECT id, :digest, :user_agent, :at, :at
FROM administrators
WHERE id = :administrator_id AND coalesce(password_hash, '') = coalesce(:password_hash, '')
{lock(SHARE)}
RETURNING {session_columns}

-- record_session_use: Store the time of the last use of a session, unless a later one is stored.
UPDATE administrator_sessions SET last_used_at = :at WHERE id = :session_id AND last_used_at < :at

-- delete_session: Delete a session of an account.
DELETE FROM administrator_sessions WHERE id = :session_id AND administrator_id = :administrator_id

-- delete_sessions: Delete the sessions of an account.
DELETE FROM administrator_sessions WHERE administrator_id = :administrator_id

-- delete_inactive_sessions: Delete the sessions that were last used or began until these times.
DELETE FROM administrator_sessions WHERE id IN (
    SELECT id FROM administrator_sessions
    WHERE last_used_at <= :last_use OR created_at <= :beginning
    {lock(UPDATE SKIP LOCKED)}
)

-- insert_form: Insert the use of a form by a session, unless it is stored.
INSERT INTO administrator_forms (session_id, digest)
SELECT id, :digest FROM administrator_sessions WHERE id = :session_id
{lock(KEY SHARE)}
ON CONFLICT (session_id, digest) DO NOTHING

-- delete_form: Delete the use of a form by a session.
DELETE FROM administrator_forms WHERE session_id = :session_id AND digest = :digest

-- select_reached_limit: Select the end of the window of a subject that has reached its limit.
SELECT {milliseconds(ends_at)} FROM sign_in_attempts
WHERE subject = :subject AND ends_at > :at AND attempts >= :attempt_limit

-- delete_ended_attempts: Delete the attempts of all subjects whose window has ended.
DELETE FROM sign_in_attempts WHERE subject IN (
    SELECT subject FROM sign_in_attempts WHERE ends_at <= :at {lock(UPDATE SKIP LOCKED)}
)

-- count_attempt: Count an attempt of a subject below the limit. Begin a window if needed.
INSERT INTO sign_in_attempts AS stored (subject, ends_at, attempts)
VALUES (:subject, :end, 1)
ON CONFLICT (subject) DO UPDATE SET
    ends_at = CASE WHEN stored.ends_at > :at THEN stored.ends_at ELSE :end END,
    attempts = CASE WHEN stored.ends_at > :at THEN stored.attempts + 1 ELSE 1 END
WHERE stored.ends_at <= :at OR stored.attempts < :attempt_limit

-- uncount_attempt: Undo the count of an attempt in a window that ends at this time, or earlier.
UPDATE sign_in_attempts SET attempts = attempts - 1
WHERE subject = :subject AND ends_at <= :end AND attempts > 0

-- delete_attempts: Delete the attempts of a subject.
DELETE FROM sign_in_attempts WHERE subject = :subject
