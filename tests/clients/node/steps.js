// SPDX-License-Identifier: MIT
// The steps themselves, by name, in the order of steps.json.
'use strict';

const { ISOLATION_LEVEL, Request, TYPES } = require('tedious');
const { declare, expected, same, toNative, toText } = require('./types.js');

const BIG = 10 * 1024 * 1024;

function shorten(value) {
  const text = String(value);
  return text.length > 60 ? text.slice(0, 60) + '... of ' + text.length : text;
}

function equal(got, wanted, what = 'value') {
  const a = JSON.stringify(got), b = JSON.stringify(wanted);
  if (a !== b) {
    throw new Error(`${what} is ${shorten(a)}, not ${shorten(b)}`);
  }
}

function sameValue(type, got, wanted) {
  const a = toText(type, got);
  if (!same(type, a, wanted)) {
    throw new Error(`value is ${shorten(a)}, not ${shorten(wanted)}`);
  }
}

// The error that the promise fails with.
async function failure(promise) {
  try {
    await promise;
  } catch (problem) {
    return problem;
  }
  throw new Error('no error came');
}

async function refused(bench, extra, number) {
  const problem = await failure(bench.open(extra));
  const cause = problem.cause || problem;
  if (![problem.number, cause.number].includes(number) &&
      !String(problem.message).includes('Login failed') &&
      !String(problem.message).includes('Cannot open database')) {
    throw problem;
  }
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

function values(script) {
  const list = [];
  for (const [type, cases] of Object.entries(script.types)) {
    for (const [label, [literal, text]] of Object.entries(cases)) {
      list.push({ type, label, literal, text: expected(text) });
    }
  }
  return list;
}

async function asColumn(bench, { type, literal, text }) {
  const session = await bench.session();
  sameValue(type, await session.scalar(
    `SELECT CAST(${literal} AS ${type}) AS v`), text);
}

async function asParameter(bench, { type, text }) {
  const session = await bench.session();
  const [declared, options] = declare(type);
  const answer = await session.rpc('SELECT @p AS v',
    [['p', declared, toNative(type, text), options]]);
  sameValue(type, answer.results[0].rows[0][0], text);
}

async function asOutput(bench, { type, literal, text }) {
  const session = await bench.session();
  const [declared, options] = declare(type);
  const answer = await session.rpc(`SET @o = CAST(${literal} AS ${type})`,
    [['o', declared, undefined, options, true]]);
  if (!('o' in answer.outputs)) {
    throw new Error('no output value came');
  }
  sameValue(type, answer.outputs.o, text);
}

async function connect(bench) {
  const session = await bench.open({ database: 'weir' });
  equal(await session.scalar('SELECT DB_NAME()'), 'weir', 'database');
  equal(await session.scalar('SELECT SUSER_SNAME()'), 'sa', 'login');
  await session.close();
}

async function select1(bench) {
  const session = await bench.session();
  const { results } = await session.batch('SELECT 1 AS one');
  equal(results[0].rows, [[1]]);
  equal(results[0].columns.map((column) => column.colName), ['one'], 'names');
}

async function severalParameters(bench) {
  const session = await bench.session();
  const wanted = [1, '2', 'trzy', 4.5, true, null, 'sześć', 7, 'x', -8];
  const types = [TYPES.Int, TYPES.BigInt, TYPES.VarChar, TYPES.Float, TYPES.Bit,
    TYPES.Int, TYPES.NVarChar, TYPES.TinyInt, TYPES.Char, TYPES.SmallInt];
  const names = wanted.map((_, i) => 'p' + i);
  const { results } = await session.rpc(
    'SELECT ' + names.map((name) => '@' + name).join(', '),
    names.map((name, i) => [name, types[i], wanted[i]]));
  equal(results[0].rows, [wanted]);
}

// Prepares, runs each set of values, releases; rows and errors in turn.  A
// Request of tedious that has failed reports that error again and again, also
// for what succeeds later: only one that was not seen before counts.
async function prepared(session, sql, runs) {
  const answers = [];
  const seen = new Set();
  let row, waiting;
  const next = () => new Promise((done, fail) => { waiting = { done, fail }; });
  const ended = (problem) => {
    if (problem && !seen.has(problem)) {
      seen.add(problem);
      waiting.fail(problem);
    } else {
      waiting.done();
    }
  };
  const request = new Request(sql, ended);
  request.addParameter('a', TYPES.Int);
  request.addParameter('b', TYPES.NVarChar);
  request.on('row', (cells) => { row = cells.map((cell) => cell.value); });
  const ready = next();
  request.on('prepared', () => waiting.done());
  session.connection.prepare(request);
  await ready;
  for (const values of runs) {
    const run = next();
    row = undefined;
    session.connection.execute(request, values);
    answers.push(await run.then(() => row, (problem) => problem));
  }
  const released = next();
  session.connection.unprepare(request);
  await released;
  return answers;
}

async function prepareExecute(bench) {
  const session = await bench.session();
  equal(await prepared(session, 'SELECT @a + 1 AS a, @b AS b',
    [{ a: 1, b: 'ż' }, { a: 41, b: null }, { a: null, b: '' }]),
  [[2, 'ż'], [42, null], [null, '']]);
  equal(await session.scalar('SELECT 5'), 5);
}

async function prepareError(bench) {
  const session = await bench.session();
  const [bad, good] = await prepared(session, 'SELECT 10 / @a AS a, @b AS b',
    [{ a: 0, b: 'x' }, { a: 5, b: 'y' }]);
  equal(bad.number, 8134, 'error');
  equal(good, [2, 'y']);
}

const count = (session) => session.scalar('SELECT @@TRANCOUNT');

async function commit(bench) {
  const session = await bench.session();
  await session.call('beginTransaction', 'outer');
  equal(await count(session), 1, 'depth');
  await session.call('commitTransaction');
  equal(await count(session), 0, 'depth');
}

async function rollback(bench) {
  const session = await bench.session();
  await session.call('beginTransaction');
  equal(await count(session), 1, 'depth');
  await session.call('rollbackTransaction');
  equal(await count(session), 0, 'depth');
}

async function save(bench) {
  const session = await bench.session();
  await session.call('beginTransaction', 'outer');
  await session.call('saveTransaction', 'here');
  await session.call('rollbackTransaction', 'here');
  equal(await count(session), 1, 'depth');
  await session.call('commitTransaction');
  equal(await count(session), 0, 'depth');
}

function isolation(level) {
  const names = [, 'READ_UNCOMMITTED', 'READ_COMMITTED', 'REPEATABLE_READ',
    'SERIALIZABLE', 'SNAPSHOT'];
  return async (bench) => {
    const session = await bench.open();
    const spid = await session.scalar('SELECT @@SPID');
    await session.call('beginTransaction', '', ISOLATION_LEVEL[names[level]]);
    const seen = (await bench.control('sessions')).find((s) => s.spid === spid);
    equal([seen.isolation, seen.trancount], [level, 1], 'what the server saw');
    await session.call('commitTransaction');
    await session.close();
  };
}

function errorOf(severity) {
  const log = severity > 18 ? ' WITH LOG' : '';
  return async (bench) => {
    const session = await bench.open();
    const problem = await failure(session.batch(
      `RAISERROR(N'class ${severity} ż', ${severity}, 3)${log}`));
    const { number, class: seen, state, message } = session.errors[0] || problem;
    equal([number, seen, state, message],
      [50000, severity, 3, `class ${severity} ż`], 'error');
    if (severity >= 20) {
      await session.closed;
      return;
    }
    equal(await session.scalar('SELECT 7'), 7);
    await session.close();
  };
}

async function syntaxError(bench) {
  const session = await bench.session();
  const problem = await failure(session.batch('SELECT FROM'));
  equal(problem.number, 156, 'error');
}

async function errorAfterRows(bench) {
  const session = await bench.session();
  const problem = await failure(session.batch(
    "SELECT 1 AS a UNION ALL SELECT 2 RAISERROR('late', 16, 1)"));
  equal(problem.message, 'late', 'error');
  equal(problem.answer.results[0].rows, [[1], [2]]);
}

async function severalResults(bench) {
  const session = await bench.session();
  const { results } = await session.batch(`SELECT 1 AS a
    SELECT 2 AS b, 'x' AS c WHERE 1 = 0
    SELECT n FROM dbo.rows(3)`);
  equal(results.map((result) => result.rows.map((row) => Number(row[0]))),
    [[1], [], [1, 2, 3]]);
  equal(results.map((result) => result.columns.map((c) => c.colName)),
    [['a'], ['b', 'c'], ['n']], 'names');
}

async function manyRows(bench) {
  const session = await bench.session();
  const { results } = await session.batch('SELECT n FROM dbo.rows(20000)');
  equal(results[0].rows.length, 20000, 'rows');
  equal(results[0].rows.every((row, i) => Number(row[0]) === i + 1), true);
}

async function print(bench) {
  const session = await bench.session();
  await session.batch("PRINT N'zażółć'");
  equal(session.messages.map((m) => m.message), ['zażółć'], 'messages');
}

async function info(bench) {
  const session = await bench.session();
  await session.batch("RAISERROR('info %d', 5, 2, 42)");
  equal(session.messages.map((m) => [m.message, m.class, m.state]),
    [['info 42', 5, 2]], 'messages');
}

async function order(bench) {
  const session = await bench.session();
  await session.batch("SELECT 1 PRINT 'between' SELECT 2");
  equal(session.events, ['row 1', 'message between', 'row 2'], 'order');
}

async function cancelWait(bench) {
  const session = await bench.session();
  const before = await bench.control('stats');
  const begun = Date.now();
  const ended = failure(session.batch("WAITFOR DELAY '00:00:10' SELECT 1"));
  await pause(100);
  session.connection.cancel();
  equal((await ended).code, 'ECANCEL', 'error');
  equal(Date.now() - begun < 5000, true, 'cancelled in time');
  const after = await bench.control('stats');
  equal(after.attentions - before.attentions, 1, 'attentions');
}

async function cancelUsable(bench) {
  const session = await bench.session();
  const spid = await session.scalar('SELECT @@SPID');
  const ended = failure(session.rpc("WAITFOR DELAY '00:00:10' SELECT @p",
    [['p', TYPES.Int, 1]]));
  await pause(100);
  session.connection.cancel();
  await ended;
  equal(await session.scalar('SELECT @@SPID'), spid, 'session');
}

async function cancelRows(bench) {
  const session = await bench.session();
  const cancelled = session.run('SELECT n FROM dbo.rows(150000)',
    (request) => session.connection.execSqlBatch(request),
    (request) => {
      let rows = 0;
      request.on('row', () => {
        if (++rows === 50) {
          session.connection.cancel();
        }
      });
    });
  equal((await failure(cancelled)).code, 'ECANCEL', 'error');
  equal(await session.scalar('SELECT 3'), 3);
}

async function timeout(bench) {
  const session = await bench.session();
  const problem = await failure(session.rpc("WAITFOR DELAY '00:00:10'", [], 200));
  equal(problem.code, 'ETIMEOUT', 'error');
  equal(await session.scalar('SELECT 4'), 4);
}

async function resetTransaction(bench) {
  const session = await bench.open();
  await session.batch('BEGIN TRAN');
  await session.call('reset');
  equal(await count(session), 0, 'depth');
  await session.close();
}

async function reset(bench) {
  const session = await bench.open({ database: 'weir' });
  const spid = await session.scalar('SELECT @@SPID');
  await session.batch('USE tempdb SET DATEFIRST 3');
  const before = await bench.control('stats');
  await session.call('reset');
  const after = await bench.control('stats');
  const { results } = await session.batch(
    'SELECT @@SPID, DB_NAME(), @@DATEFIRST');
  equal(results[0].rows[0], [spid, 'weir', 7], 'state');
  equal(after.resets - before.resets, 1, 'resets');
  await session.close();
}

async function bigFrom(bench) {
  const session = await bench.session();
  const text = await session.scalar(
    `SELECT REPLICATE(CAST('abcdefghij' AS varchar(max)), ${BIG / 10})`);
  equal(text === 'abcdefghij'.repeat(BIG / 10), true, 'the same');
}

function pattern(length) {
  const bytes = Buffer.allocUnsafe(length);
  for (let i = 0; i < length; i++) {
    bytes[i] = (i * 7 + (i >> 8)) & 255;
  }
  return bytes;
}

async function echo(session, length) {
  const bytes = pattern(length);
  const { results } = await session.rpc('SELECT DATALENGTH(@p) AS n, @p AS v',
    [['p', TYPES.VarBinary, bytes, { length: Infinity }]]);
  const [n, back] = results[0].rows[0];
  equal(Number(n), length, 'length');
  equal(Buffer.compare(bytes, back), 0, 'difference');
}

async function bigTo(bench) {
  await echo(await bench.session(), BIG);
}

function packets(size) {
  return async (bench) => {
    const session = await bench.open({ packetSize: size });
    const spid = await session.scalar('SELECT @@SPID');
    const seen = (await bench.control('sessions')).find((s) => s.spid === spid);
    equal(seen.packet_size, size, 'packet size');
    await echo(session, 100000);
    const text = await session.scalar("SELECT REPLICATE(CAST('ab' AS " +
      'varchar(max)), 50000)');
    equal(text === 'ab'.repeat(50000), true, 'the same');
    await session.close();
  };
}

async function manyLogins(bench) {
  const sessions = await Promise.all(
    Array.from({ length: 100 }, () => bench.open()));
  const spids = await Promise.all(
    sessions.map((session) => session.scalar('SELECT @@SPID')));
  equal(new Set(spids).size, 100, 'sessions');
  await Promise.all(sessions.map((session) => session.close()));
}

async function bulk(bench) {
  const session = await bench.session();
  await new Promise((done, fail) => {
    const load = session.connection.newBulkLoad('loaded',
      (problem) => problem ? fail(problem) : done());
    load.addColumn('a', TYPES.Int, { nullable: true });
    session.connection.execBulkLoad(load, [[1], [2]]);
  });
}

async function token(bench) {
  const session = await bench.open({
    authentication: {
      type: 'azure-active-directory-access-token',
      options: { token: bench.args.token },
    },
  });
  equal(await session.scalar('SELECT 1'), 1);
  await session.close();
}

function* each(script, kind, step) {
  for (const value of values(script)) {
    if (kind === 'output' && script['never output'].includes(value.type)) {
      continue;
    }
    yield [`${kind}/${value.type}/${value.label}`, (bench) => step(bench, value)];
  }
}

// Every step as [name, function of the bench].
function* steps(script) {
  yield ['connect', connect];
  yield ['login/password',
    (bench) => refused(bench, { login: { password: 'wrong' } }, 18456)];
  yield ['login/database',
    (bench) => refused(bench, { database: 'nosuch' }, 4060)];
  yield ['select1', select1];
  yield* each(script, 'value', asColumn);
  yield* each(script, 'param', asParameter);
  yield* each(script, 'output', asOutput);
  yield ['param/several', severalParameters];
  yield ['prepare/execute', prepareExecute];
  yield ['prepare/error', prepareError];
  yield ['txn/commit', commit];
  yield ['txn/rollback', rollback];
  yield ['txn/save', save];
  for (let level = 1; level <= 5; level++) {
    yield [`txn/isolation/${level}`, isolation(level)];
  }
  for (let severity = 11; severity <= 20; severity++) {
    yield [`error/${severity}`, errorOf(severity)];
  }
  yield ['error/syntax', syntaxError];
  yield ['error/after-rows', errorAfterRows];
  yield ['results/several', severalResults];
  yield ['results/rows', manyRows];
  yield ['message/print', print];
  yield ['message/info', info];
  yield ['message/order', order];
  yield ['cancel/wait', cancelWait];
  yield ['cancel/usable', cancelUsable];
  yield ['cancel/rows', cancelRows];
  yield ['cancel/timeout', timeout];
  yield ['reset', reset];
  yield ['reset/transaction', resetTransaction];
  yield ['big/from', bigFrom];
  yield ['big/to', bigTo];
  yield ['packet/512', packets(512)];
  yield ['packet/16383', packets(16383)];
  yield ['logins/100', manyLogins];
  yield ['bulk', bulk];
  yield ['token', token];
}

module.exports = { steps };
