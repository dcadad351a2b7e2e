#!/bin/bash
# What a newcomer does on a fresh machine. The lines `visit: NAME=VALUE` become a row of the table.
set -eum
say() { echo "visit: $1=$2"; }
fail() { say status "$1"; exit 1; }

say python "$(python3 --version | cut -d ' ' -f 2)"
mkdir "$HOME/my projects"
cd "$HOME/my projects"
git clone --quiet "$HOME/repository.bundle" recipient-fields
cd recipient-fields

echo "== make serve"
began=$SECONDS
make serve > serve.log 2>&1 &
make=$!
until curl --silent --output /dev/null http://127.0.0.1:8080/healthz; do
    kill -0 $make 2> /dev/null || { cat serve.log; fail "make serve ended"; }
    sleep 0.2
done
say seconds $((SECONDS - began))
say packages "$(find .venv/lib -maxdepth 3 -name '*.dist-info' | wc -l)"
say mb "$(du --summarize --block-size=1M .venv | cut -f 1)"
until grep --quiet 'in a browser, open' serve.log; do sleep 0.2; done
cat serve.log
grep --ignore-case --quiet -E 'warning|deprecat|error' serve.log && fail "make serve prints warnings"

grep --quiet 'Recipient Fields is listening on' <(sed '/^{/,$d' serve.log) || fail "the log precedes the greeting"

statuses=""
while read -r command; do
    sh -c "$command" > response 2> /dev/null
    if [ -z "$statuses" ]; then
        grep --quiet "^Hello {{" response && statuses+=" email"
    else
        statuses+=" $(head -n 1 response | cut -d ' ' -f 2)"
    fi
    [ -z "$(tail --bytes 1 response)" ] || fail "a response does not end with a newline"
done < <(grep '^curl ' serve.log)
link=$(grep --only-matching 'http://[^ ]*/console/links/[^ ]*' serve.log)
statuses+=" $(curl --silent --output /dev/null --write-out '%{http_code}' "$link")"
say commands "${statuses# }"
[ "$statuses" = " email 201 403 200" ] || fail "a printed command or the link does not work"
kill -INT -- -$make
wait $make || true

echo "== the wheel"
.venv/bin/pip wheel --quiet --no-deps --wheel-dir "$HOME/wheel" .
python3 -m venv "$HOME/installed"
"$HOME/installed/bin/pip" install --quiet "$(echo "$HOME"/wheel/*.whl)[cli]"
command="$HOME/installed/bin/recipient-fields"
"$command" convert --from klaviyo --to portable docs/examples/emails/newsletter.html > "$HOME/converted"
grep --quiet '{{#if recipient.loyalty_tier' "$HOME/converted" || fail "the wheel does not convert"
export RECIPIENT_FIELDS_STORAGE="sqlite:$HOME/wheel.db"
"$command" migrate
"$command" serve --demo --listen 127.0.0.1:8090 2> /dev/null &
for _ in $(seq 600); do
    curl --silent --output /dev/null http://127.0.0.1:8090/healthz && break
    sleep 0.2
done
curl --silent --fail --output /dev/null http://127.0.0.1:8090/docs || fail "the demonstration of the wheel does not start"
kill -INT %%
wait %% || true
unset RECIPIENT_FIELDS_STORAGE

echo "== make test"
began=$SECONDS
result=0
make test > test.log 2>&1 || result=$?
say minutes $(((SECONDS - began + 30) / 60))
cat test.log
for outcome in passed failed; do
    count=$(tail -n 3 test.log | sed -n "s/.*[^0-9]\([0-9]\+\) $outcome.*/\1/p")
    say $outcome "${count:-0}"
done
[ $result -eq 0 ] || fail "make test failed"
say status ok
