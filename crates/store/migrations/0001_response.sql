-- Replies of the Responses API that a client may read again or continue.
-- `owner` comes first in the key: one owner's ids are invisible to every other owner.
CREATE TABLE response (
    owner                TEXT   NOT NULL,
    id                   TEXT   NOT NULL,
    previous_response_id TEXT,
    created_at           BIGINT NOT NULL,
    expires_at           BIGINT NOT NULL,
    model                TEXT   NOT NULL,
    status               TEXT   NOT NULL,
    input_items          TEXT   NOT NULL,
    output_items         TEXT   NOT NULL,
    body                 TEXT   NOT NULL,
    input_bytes          BIGINT NOT NULL,
    output_bytes         BIGINT NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE INDEX response_by_expiry ON response (expires_at);
