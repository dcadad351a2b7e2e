-- The script of wrk for a load. The variable `load` is defined before this.

local threads = {}
local tags = {}
wrong, repeated = 0, 0
local sent = 0

function setup(thread)
  table.insert(threads, thread)
end

function request()
  local text = load.requests[sent % #load.requests + 1]
  text = text:gsub(load.number, string.format("%09d", sent))
  sent = sent + 1
  return text
end

function response(status, headers, body)
  if status ~= load.status then wrong = wrong + 1 end
  local tag = headers["ETag"] or headers["Etag"]
  if tag then
    if tags[tag] then repeated = repeated + 1 end
    tags[tag] = true
  end
end

function done(summary, latency, requests)
  local failed = summary.errors
  io.write(string.format(
    '{"requests": %d, "seconds": %f, "p50": %f, "p99": %f, "wrong": %d, "repeated": %d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e6,
    latency:percentile(99) / 1e6,
    threads[1]:get("wrong") + failed.connect + failed.read + failed.write + failed.timeout,
    threads[1]:get("repeated")))
end
