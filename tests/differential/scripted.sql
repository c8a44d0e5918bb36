-- Batches that the scripts of tests/server/scripts answer, one script to a server.
-- Left out is what ends tedious with an exception: json, vector, the types of old
-- servers, TABNAME, ENVCHANGE 19.

-- @ types/fixed
types fixed

-- @ types/nullable
types nullable

-- @ types/with a length
types with a length

-- @ types/decimal
types decimal

-- @ types/date
types date

-- @ types/string
types string

-- @ types/max
types max

-- @ types/blob
types blob

-- @ types/other
types other

-- @ types/flags
types flags

-- @ types/variant
types variant

-- @ types/variant dates
types variant dates

-- @ tokens/messages
tokens messages

-- @ tokens/results
tokens results

