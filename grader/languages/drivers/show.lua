local function shownForTests(value)
    if type(value) == "string" then return (string.format("%q", value):gsub("\n", "n")) end
    if type(value) == "number" then
        if value == math.floor(value) and math.abs(value) < 2^53 then
            return string.format("%.0f", value + 0.0)  -- The two zeros are equal.
        end
        return string.format("%.17g", value)
    end
    if type(value) ~= "table" then return tostring(value) end
    local items = {}
    for key, item in pairs(value) do
        items[#items + 1] = "[" .. shownForTests(key) .. "] = " .. shownForTests(item)
    end
    table.sort(items)
    return "{" .. table.concat(items, ", ") .. "}"
end
