local json = require("json")
-- doc
local M = {}
M.VERSION = "1"
--- run it
function M.run(a) local function inner() end end
function M:method() end
local function loc() end
function glob() end
M.assigned = function(x) end
local f2 = function() end
local t = { key = function() end, b = 2 }
return M
