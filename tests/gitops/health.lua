-- Runs the health check for Argo CD over a few objects, with the libraries that Argo CD opens.
-- usage: lua5.1 health.lua CHECK

local check = assert(loadfile(arg[1]))

local function head(state, severity, cause, summary)
  return {status = {state = state, severity = severity, cause = cause, summary = summary}}
end

local cases = {
  {"no status yet", {}, "Progressing", "not written yet"},
  {"an empty status", {status = {}}, "Progressing", "not written yet"},
  {"failing", head("Active", "Critical", "QuotaExceeded", "no pod exists"), "Degraded", "QuotaExceeded: no pod exists"},
  {"others serve", head("Active", "Warning", "AppError", "1 of 3 pods fails"), "Degraded", "AppError: 1 of 3 pods fails"},
  {"only noted", head("Active", "Info", "ResizeDeferred", "waits for room"), "Healthy", "ResizeDeferred: waits for room"},
  {"recovered", head("Recovered", "Critical", "AppError", "was"), "Healthy", "Recovered after AppError: was"},
  {"gone", head("Gone", "Critical", "AppError", "was"), "Healthy", "Gone after AppError: was"},
  {"a later operator's fields", {status = {state = "Active"}}, "Degraded", "Unknown: "},
}

local failed = 0
for _, case in ipairs(cases) do
  local name, object, status, message = case[1], case[2], case[3], case[4]
  -- The basic functions and tables: no strings, no files.
  local env = {obj = object, table = table, ipairs = ipairs, pairs = pairs, tostring = tostring, type = type}
  local ran, result = pcall(setfenv(check, env))
  if not ran or type(result) ~= "table" or result.status ~= status or result.message ~= message then
    failed = failed + 1
    local got = ran and type(result) == "table" and tostring(result.status) .. " (" .. tostring(result.message) .. ")" or tostring(result)
    io.stderr:write(name, ": ", got, ", not ", status, " (", message, ")\n")
  end
end
print(#cases .. " objects, " .. failed .. " with another health than in docs/gitops.md")
os.exit(failed == 0 and 0 or 1)
