local before_hooks, after_hooks = {}, {}
local function describe(_, body)
  local before, after = {table.unpack(before_hooks)}, {table.unpack(after_hooks)}
  body()
  before_hooks, after_hooks = before, after
end
local has_failed_for_tests = false
local function it(_, body)
  local ended, why = pcall(function()
    for _, hook in ipairs(before_hooks) do hook() end
    body()
    for _, hook in ipairs(after_hooks) do hook() end
  end)
  if not ended then
    has_failed_for_tests = true
    io.stderr:write("lua: ", tostring(why), "\n")
  end
end
local context, insulate = describe, describe
local function before_each(hook) table.insert(before_hooks, hook) end
local function after_each(hook) table.insert(after_hooks, hook) end
local function thrownForTests(body)
  local ended, why = pcall(body)
  if ended then return nil end
  return type(why) == "string" and why:gsub("^[^\n]-:%d+: ", "", 1) or why
end
