-- Statements of the differential test, run in this order on one connection of each
-- client.  A line with -- @ begins a statement and names it.

-- @ setup/drop
DROP TABLE IF EXISTS item, kind, wide, note, tree, money_t, many

-- @ setup/kind
CREATE TABLE kind (id int NOT NULL PRIMARY KEY, name nvarchar(20) NOT NULL UNIQUE)

-- @ setup/item
CREATE TABLE item (id int IDENTITY(1,1) PRIMARY KEY, kind_id int REFERENCES kind (id), name nvarchar(30) NOT NULL, qty int CHECK (qty >= 0), price decimal(10,2), sold bit, made date, seen datetime2(3))

-- @ setup/wide
CREATE TABLE wide (id int NOT NULL, a_bit bit, a_tiny tinyint, a_small smallint, a_big bigint,
  a_real real, a_float float, a_dec decimal(18,4), a_num numeric(9,3), a_money money, a_smoney smallmoney,
  a_char char(5), a_vc varchar(40), a_nc nchar(5), a_nvc nvarchar(40), a_bin binary(4), a_vb varbinary(20),
  a_date date, a_time time(3), a_dt datetime, a_sdt smalldatetime, a_dt2 datetime2(7), a_guid uniqueidentifier,
  a_vcm varchar(max), a_nvcm nvarchar(max), a_vbm varbinary(max))

-- @ setup/note
CREATE TABLE note (id bigint NOT NULL, body nvarchar(max), item_id int)

-- @ setup/tree
CREATE TABLE tree (id int NOT NULL PRIMARY KEY, parent int, name varchar(10))

-- @ setup/many
CREATE TABLE many (n int NOT NULL PRIMARY KEY, s varchar(20))

-- @ insert/kind
INSERT INTO kind VALUES (1, N'tool'), (2, N'toy'), (3, N'żółw')

-- @ insert/item
INSERT INTO item (kind_id, name, qty, price, sold, made, seen) VALUES (1, N'hammer', 10, 12.50, 1, '2024-02-29', '2024-03-01 10:11:12.345'), (1, N'saw', 3, 20.00, 0, '2023-12-31', NULL), (2, N'kite', 7, 5.25, NULL, NULL, '2024-01-01')

-- @ insert/item/select
INSERT INTO item (kind_id, name, qty, price) SELECT id, name + N' box', id * 2, 1.5 * id FROM kind

-- @ insert/item/null
INSERT item (name) VALUES (N'nothing')

-- @ insert/wide/all
INSERT wide VALUES (1, 1, 255, -32768, 9223372036854775807, 1.5, -2.25, 12345.6789, -0.125, 922337203685477.5807, -214748.3648,
  'abc', 'plain', N'xyz', N'zażółć', 0x01020304, 0xFF00, '0001-01-01', '23:59:59.999', '1753-01-01', '2079-06-06 23:59',
  '9999-12-31 23:59:59.9999999', '6F9619FF-8B86-D011-B42D-00C04FC964FF', 'max', N'ńmax', 0x0A)

-- @ insert/wide/low
INSERT wide VALUES (2, 0, 0, 32767, -9223372036854775808, 0, 1e300, -0.0001, 999999.999, -0.0001, 0, '', '', N'', N'', 0x, 0x,
  '9999-12-31', '00:00', '9999-12-31 23:59:59.997', '1900-01-01', '0001-01-01', '00000000-0000-0000-0000-000000000000', '', N'', 0x)

-- @ insert/wide/null
INSERT wide (id) VALUES (3)

-- @ insert/tree
INSERT tree VALUES (1, NULL, 'root'), (2, 1, 'left'), (3, 1, 'right'), (4, 2, 'leaf')

-- @ insert/many
INSERT many SELECT n, 'row ' + CAST(n AS varchar(10)) FROM dbo.rows(3000)

-- @ insert/note/unicode
INSERT note VALUES (1, N'line one' + NCHAR(10) + N'line two', 1), (2, N'😀 emoji', NULL)

-- @ insert/note/long
INSERT note VALUES (3, REPLICATE(CAST(N'ab' AS nvarchar(max)), 6000), 2)

-- @ select/wide/all
SELECT * FROM wide ORDER BY id

-- @ select/wide/numbers
SELECT id, a_bit, a_tiny, a_small, a_big FROM wide ORDER BY id

-- @ select/wide/floats
SELECT id, a_real, a_float FROM wide ORDER BY id

-- @ select/wide/exact
SELECT id, a_dec, a_num FROM wide ORDER BY id

-- @ select/wide/money
SELECT id, a_money, a_smoney FROM wide ORDER BY id

-- @ select/wide/texts
SELECT id, a_char, a_vc, a_nc, a_nvc FROM wide ORDER BY id

-- @ select/wide/binary
SELECT id, a_bin, a_vb FROM wide ORDER BY id

-- @ select/wide/dates
SELECT id, a_date, a_time, a_dt, a_sdt, a_dt2 FROM wide ORDER BY id

-- @ select/wide/guid
SELECT id, a_guid FROM wide ORDER BY id

-- @ select/wide/max
SELECT id, a_vcm, a_nvcm, a_vbm FROM wide ORDER BY id

-- @ select/star
SELECT * FROM item ORDER BY id

-- @ select/columns
SELECT id, name, price FROM item ORDER BY id

-- @ select/alias
SELECT id AS [the id], name AS 'a name' FROM item ORDER BY id

-- @ select/nameless
SELECT qty + 1 FROM item ORDER BY id

-- @ select/empty
SELECT id, name FROM item WHERE id > 1000

-- @ select/top
SELECT TOP 2 id, name FROM item ORDER BY price DESC, id

-- @ select/top/expr
SELECT TOP (1 + 1) id FROM item ORDER BY id

-- @ select/offset
SELECT id FROM item ORDER BY id OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY

-- @ select/distinct
SELECT DISTINCT kind_id FROM item ORDER BY kind_id

-- @ select/where/eq
SELECT id FROM item WHERE name = N'HAMMER'

-- @ select/where/in
SELECT id FROM item WHERE qty IN (3, 7) ORDER BY id

-- @ select/where/notin
SELECT id FROM item WHERE qty NOT IN (3, 7) ORDER BY id

-- @ select/where/between
SELECT id FROM item WHERE price BETWEEN 5 AND 13 ORDER BY id

-- @ select/where/like
SELECT id FROM item WHERE name LIKE N'%a%' ORDER BY id

-- @ select/where/like/set
SELECT id FROM item WHERE name LIKE N'[hk]%' ORDER BY id

-- @ select/where/null
SELECT id FROM item WHERE price IS NULL

-- @ select/where/notnull
SELECT COUNT(*) FROM item WHERE price IS NOT NULL

-- @ select/where/or
SELECT id FROM item WHERE (qty > 5 AND sold = 1) OR made IS NULL ORDER BY id

-- @ select/where/not
SELECT id FROM item WHERE NOT (qty > 5) ORDER BY id

-- @ select/where/decimal
SELECT id FROM item WHERE price > 12.499 ORDER BY id

-- @ select/where/date
SELECT id FROM item WHERE made < '2024-01-01'

-- @ select/where/datetime2
SELECT id FROM item WHERE seen >= '2024-01-01T00:00:00' ORDER BY id

-- @ select/join
SELECT item.name, kind.name FROM item JOIN kind ON kind.id = item.kind_id ORDER BY item.id

-- @ select/join/left
SELECT i.id, k.name FROM item i LEFT JOIN kind k ON k.id = i.kind_id ORDER BY i.id

-- @ select/join/right
SELECT k.id, i.name FROM item i RIGHT JOIN kind k ON k.id = i.kind_id AND i.qty = 3 ORDER BY k.id

-- @ select/join/full
SELECT a.id AS a, b.id AS b FROM tree a FULL JOIN tree b ON b.parent = a.id ORDER BY a, b

-- @ select/join/cross
SELECT COUNT(*) AS n FROM kind CROSS JOIN tree

-- @ select/join/three
SELECT i.name, k.name AS kind, n.id FROM item i JOIN kind k ON k.id = i.kind_id JOIN note n ON n.item_id = i.id ORDER BY n.id

-- @ select/join/self
SELECT c.name, p.name AS parent FROM tree c JOIN tree p ON p.id = c.parent ORDER BY c.id

-- @ select/group
SELECT kind_id, COUNT(*) AS n, SUM(qty) AS total FROM item GROUP BY kind_id ORDER BY kind_id

-- @ select/group/having
SELECT kind_id, COUNT(*) AS n FROM item GROUP BY kind_id HAVING COUNT(*) > 1 ORDER BY kind_id

-- @ select/group/expr
SELECT YEAR(made) AS y, COUNT(*) AS n FROM item GROUP BY YEAR(made) ORDER BY y

-- @ select/agg/count
SELECT COUNT(*) AS a, COUNT(price) AS b, COUNT(DISTINCT kind_id) AS c, COUNT_BIG(*) AS d FROM item

-- @ select/agg/sum
SELECT SUM(qty) AS a, SUM(price) AS b FROM item

-- @ select/agg/avg
SELECT AVG(qty) AS a, AVG(price) AS b FROM item

-- @ select/agg/minmax
SELECT MIN(name) AS a, MAX(price) AS b, MIN(made) AS c FROM item

-- @ select/agg/empty
SELECT SUM(qty) AS a, COUNT(*) AS b FROM item WHERE id < 0

-- @ select/agg/float
SELECT SUM(a_float) AS a, AVG(a_real) AS b FROM wide WHERE id < 2

-- @ select/agg/money
SELECT SUM(a_smoney) AS a FROM wide

-- @ select/agg/string
SELECT STRING_AGG(name, N'/') AS a FROM kind

-- @ select/window/rownumber
SELECT id, ROW_NUMBER() OVER (ORDER BY price DESC, id) AS rn FROM item ORDER BY id

-- @ select/window/sum
SELECT id, SUM(qty) OVER (PARTITION BY kind_id ORDER BY id) AS running FROM item ORDER BY id

-- @ select/window/rank
SELECT id, RANK() OVER (ORDER BY kind_id) AS r, DENSE_RANK() OVER (ORDER BY kind_id) AS d FROM item ORDER BY id

-- @ select/window/lag
SELECT id, LAG(name) OVER (ORDER BY id) AS before, LEAD(qty, 1, 0) OVER (ORDER BY id) AS after FROM item ORDER BY id

-- @ select/union
SELECT name FROM kind UNION SELECT name FROM tree ORDER BY name

-- @ select/union/all
SELECT id FROM kind UNION ALL SELECT id FROM tree ORDER BY id

-- @ select/union/types
SELECT qty AS v FROM item WHERE id = 1 UNION ALL SELECT price FROM item WHERE id = 1

-- @ select/except
SELECT id FROM tree EXCEPT SELECT id FROM kind

-- @ select/intersect
SELECT id FROM tree INTERSECT SELECT id FROM kind ORDER BY id

-- @ select/cte
WITH big AS (SELECT id, qty FROM item WHERE qty > 3) SELECT COUNT(*) AS n, SUM(qty) AS s FROM big

-- @ select/cte/recursive
WITH c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10) SELECT n, n * n AS sq FROM c

-- @ select/cte/tree
WITH c AS (SELECT id, name, 0 AS depth FROM tree WHERE parent IS NULL UNION ALL SELECT t.id, t.name, c.depth + 1 FROM tree t JOIN c ON c.id = t.parent) SELECT id, depth FROM c ORDER BY id

-- @ select/sub/scalar
SELECT name, (SELECT COUNT(*) FROM item i WHERE i.kind_id = k.id) AS n FROM kind k ORDER BY id

-- @ select/sub/in
SELECT name FROM kind WHERE id IN (SELECT kind_id FROM item WHERE qty > 5) ORDER BY id

-- @ select/sub/exists
SELECT name FROM kind k WHERE EXISTS (SELECT 1 FROM item i WHERE i.kind_id = k.id AND i.price > 15)

-- @ select/sub/derived
SELECT d.k, d.n FROM (SELECT kind_id AS k, COUNT(*) AS n FROM item GROUP BY kind_id) AS d WHERE d.n > 1 ORDER BY d.k

-- @ select/sub/values
SELECT v.a, k.name FROM (VALUES (1, 'x'), (2, 'y')) AS v (a, b) JOIN kind k ON k.id = v.a ORDER BY v.a

-- @ select/case
SELECT id, CASE WHEN qty > 5 THEN 'many' WHEN qty IS NULL THEN 'none' ELSE 'few' END AS c FROM item ORDER BY id

-- @ select/case/simple
SELECT id, CASE kind_id WHEN 1 THEN 10 WHEN 2 THEN 2.5 END AS c FROM item ORDER BY id

-- @ select/iif
SELECT id, IIF(sold = 1, N'yes', N'no') AS c FROM item ORDER BY id

-- @ select/isnull
SELECT id, ISNULL(price, 0) AS p, COALESCE(sold, 0) AS s FROM item ORDER BY id

-- @ select/nullif
SELECT NULLIF(kind_id, 1) AS k FROM item ORDER BY id

-- @ select/arith/int
SELECT qty + 1 AS a, qty - 1 AS b, qty * 2 AS c, qty / 2 AS d, qty % 2 AS e, -qty AS f FROM item ORDER BY id

-- @ select/arith/decimal
SELECT price + 1 AS a, price * 1.5 AS b, price - 0.005 AS c FROM item ORDER BY id

-- @ select/arith/divide
SELECT price / 3 AS a FROM item ORDER BY id

-- @ select/arith/float
SELECT a_float * 2 AS a, a_real + 1 AS b FROM wide WHERE id = 1

-- @ select/arith/bits
SELECT qty & 6 AS a, qty | 1 AS b, qty ^ 3 AS c, ~qty AS d FROM item ORDER BY id

-- @ select/concat
SELECT name + N'!' AS a, N'<' + name + N'>' AS b FROM item ORDER BY id

-- @ select/fn/text
SELECT LEN(name) AS a, UPPER(name) AS b, LEFT(name, 2) AS c, RIGHT(name, 2) AS d, SUBSTRING(name, 2, 3) AS e FROM item WHERE id < 4 ORDER BY id

-- @ select/fn/text2
SELECT REPLACE(name, N'a', N'4') AS a, CHARINDEX(N'm', name) AS b, REVERSE(name) AS c, LTRIM(N'  ' + name) AS d FROM item WHERE id < 4 ORDER BY id

-- @ select/fn/concat
SELECT CONCAT(id, N'-', name, NULL) AS a FROM item WHERE id < 4 ORDER BY id

-- @ select/fn/number
SELECT ABS(-qty) AS a, ROUND(price, 1) AS b, CEILING(price) AS c, FLOOR(price) AS d, SIGN(qty) AS e FROM item WHERE id < 4 ORDER BY id

-- @ select/fn/date
SELECT YEAR(made) AS a, MONTH(made) AS b, DAY(made) AS c, DATEPART(weekday, made) AS d FROM item WHERE id < 4 ORDER BY id

-- @ select/fn/dateadd
SELECT DATEADD(month, 1, made) AS a, DATEADD(day, -1, seen) AS b FROM item WHERE id < 4 ORDER BY id

-- @ select/fn/datediff
SELECT DATEDIFF(day, made, '2024-03-01') AS a, DATEDIFF(hour, '2024-01-01', seen) AS b FROM item WHERE id < 4 ORDER BY id

-- @ select/cast/text
SELECT CAST(qty AS varchar(10)) AS a, CAST(price AS nvarchar(12)) AS b, CAST(made AS varchar(10)) AS c FROM item WHERE id < 4 ORDER BY id

-- @ select/cast/number
SELECT CAST(price AS int) AS a, CAST(qty AS decimal(8,3)) AS b, CAST(qty AS float) AS c FROM item WHERE id < 4 ORDER BY id

-- @ select/convert
SELECT CONVERT(varchar(30), seen, 121) AS a, CONVERT(date, seen) AS b FROM item WHERE id < 4 ORDER BY id

-- @ select/try
SELECT TRY_CAST(name AS int) AS a, TRY_CONVERT(date, N'2024-02-30') AS b FROM item WHERE id = 1

-- @ select/literals
SELECT 1 AS a, 1.5 AS b, N'n' AS c, 'v' AS d, 0xFF AS e, NULL AS f, 1e0 AS g FROM kind WHERE id = 1

-- @ select/many/count
SELECT COUNT(*) AS n, MIN(s) AS a, MAX(s) AS b FROM many

-- @ select/many/rows
SELECT n, s FROM many WHERE n % 100 = 0 ORDER BY n

-- @ select/many/all
SELECT n, s FROM many ORDER BY n

-- @ select/note/long
SELECT id, LEN(body) AS l, body FROM note ORDER BY id

-- @ select/two/results
SELECT id FROM kind WHERE id = 1; SELECT name FROM kind WHERE id = 2

-- @ select/in/order
PRINT 'before'; SELECT id FROM kind WHERE id = 1; PRINT 'after'

-- @ select/variable
DECLARE @n int = 2, @s nvarchar(20); SELECT @s = name FROM kind WHERE id = @n; SELECT @n AS n, @s AS s

-- @ select/rowcount
SELECT id FROM kind; SELECT @@ROWCOUNT AS n

-- @ select/if
IF EXISTS (SELECT 1 FROM kind WHERE id = 3) SELECT 'yes' AS a ELSE SELECT 'no' AS a

-- @ select/while
DECLARE @i int = 0; WHILE @i < 3 BEGIN SET @i = @i + 1; UPDATE tree SET name = name WHERE id = @i END; SELECT @i AS i

-- @ change/update/one
UPDATE item SET qty = qty + 1 WHERE id = 1

-- @ change/update/all
UPDATE item SET sold = 1

-- @ change/update/none
UPDATE item SET sold = 0 WHERE id = 12345

-- @ change/update/many
UPDATE item SET name = UPPER(name), price = price * 2 WHERE kind_id = 1

-- @ change/update/from
UPDATE i SET i.qty = k.id FROM item i JOIN kind k ON k.id = i.kind_id WHERE k.id = 2

-- @ change/update/null
UPDATE item SET price = NULL WHERE id = 2

-- @ change/update/check
SELECT id, name, qty, price, sold FROM item ORDER BY id

-- @ change/delete/one
DELETE FROM item WHERE id = 7

-- @ change/delete/none
DELETE item WHERE id = 12345

-- @ change/delete/join
DELETE i FROM item i JOIN kind k ON k.id = i.kind_id WHERE k.name = N'żółw'

-- @ change/delete/check
SELECT id FROM item ORDER BY id

-- @ change/identity/scope
INSERT item (name) VALUES (N'last'); SELECT SCOPE_IDENTITY() AS a

-- @ change/identity/explicit
INSERT item (id, name) VALUES (100, N'x')

-- @ change/identity/on
SET IDENTITY_INSERT item ON; INSERT item (id, name) VALUES (100, N'x'); SET IDENTITY_INSERT item OFF

-- @ change/nocount
SET NOCOUNT ON; UPDATE item SET qty = 1 WHERE id = 1; SET NOCOUNT OFF

-- @ change/default
INSERT item (kind_id, name, qty) VALUES (1, N'default', DEFAULT)

-- @ change/truncate
TRUNCATE TABLE many

-- @ change/truncate/check
SELECT COUNT(*) AS n FROM many

-- @ change/temp/create
CREATE TABLE #t (a int NOT NULL, b nvarchar(10))

-- @ change/temp/insert
INSERT #t VALUES (1, N'x'), (2, NULL)

-- @ change/temp/select
SELECT a, b FROM #t ORDER BY a

-- @ change/temp/join
SELECT t.a, k.name FROM #t t JOIN kind k ON k.id = t.a ORDER BY t.a

-- @ change/temp/drop
DROP TABLE #t

-- @ change/alter/add
ALTER TABLE tree ADD extra int NULL, mark nvarchar(5) NOT NULL DEFAULT N'm'

-- @ change/alter/select
SELECT * FROM tree ORDER BY id

-- @ change/alter/drop
ALTER TABLE tree DROP COLUMN extra

-- @ change/index
CREATE UNIQUE INDEX ux_tree ON tree (name)

-- @ change/index/duplicate
INSERT tree (id, name) VALUES (9, 'ROOT')

-- @ change/index/drop
DROP INDEX ux_tree ON tree

-- @ txn/begin
BEGIN TRANSACTION

-- @ txn/insert
INSERT kind VALUES (50, N'in')

-- @ txn/see
SELECT COUNT(*) AS n FROM kind WHERE id = 50

-- @ txn/count
SELECT @@TRANCOUNT AS n

-- @ txn/save
SAVE TRANSACTION here

-- @ txn/insert2
INSERT kind VALUES (51, N'out')

-- @ txn/back
ROLLBACK TRANSACTION here

-- @ txn/commit
COMMIT TRANSACTION

-- @ txn/check
SELECT id FROM kind WHERE id >= 50

-- @ txn/rollback
BEGIN TRAN; DELETE kind WHERE id = 50; ROLLBACK

-- @ txn/check2
SELECT id FROM kind WHERE id >= 50

-- @ txn/nothing
COMMIT

-- @ error/object
SELECT * FROM nosuch

-- @ error/column
SELECT nosuch FROM kind

-- @ error/ambiguous
SELECT id FROM kind, tree

-- @ error/unbound
SELECT z.id FROM kind

-- @ error/syntax
SELECT FROM kind

-- @ error/syntax/end
SELECT id FROM kind WHERE

-- @ error/function
SELECT frobnicate(id) FROM kind

-- @ error/variable
SELECT @nope FROM kind

-- @ error/duplicate
INSERT kind VALUES (1, N'again')

-- @ error/unique
INSERT kind VALUES (60, N'tool')

-- @ error/null
INSERT kind VALUES (61, NULL)

-- @ error/check
INSERT item (name, qty) VALUES (N'x', -1)

-- @ error/foreign
INSERT item (name, kind_id) VALUES (N'x', 999)

-- @ error/truncated
INSERT kind VALUES (62, N'a name much longer than twenty')

-- @ error/divide
SELECT 1 / (id - 1) AS a FROM kind

-- @ error/overflow
SELECT id + 2147483647 AS a FROM kind

-- @ error/convert
SELECT CAST(name AS int) AS a FROM kind

-- @ error/subquery
SELECT id FROM kind WHERE id = (SELECT id FROM tree)

-- @ error/group
SELECT name, COUNT(*) AS n FROM kind

-- @ error/union
SELECT id, name FROM kind UNION SELECT id FROM tree

-- @ error/values
INSERT kind (id, name) VALUES (1)

-- @ error/drop
DROP TABLE nosuch

-- @ error/exists
CREATE TABLE kind (a int)

-- @ error/merge
MERGE kind USING tree ON kind.id = tree.id WHEN MATCHED THEN DELETE;

-- @ error/output
DELETE kind OUTPUT deleted.id WHERE id = 1

-- @ error/into
SELECT id INTO copy FROM kind

-- @ error/raise
RAISERROR('from %s', 16, 3, 'tdsd')

-- @ error/raise/low
RAISERROR('just so', 5, 1)

-- @ error/throw
THROW 50001, 'thrown', 7

-- @ error/caught
BEGIN TRY INSERT kind VALUES (1, N'again') END TRY BEGIN CATCH SELECT ERROR_NUMBER() AS n, ERROR_MESSAGE() AS m END CATCH

-- @ error/goes on
INSERT kind VALUES (1, N'again'); SELECT COUNT(*) AS n FROM kind

-- @ end/drop
DROP TABLE item, kind, wide, note, tree, many

-- @ end/gone
SELECT * FROM item
