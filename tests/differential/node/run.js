// SPDX-License-Identifier: MIT
// Runs the statements of a JSON file through tedious and prints one canonical JSON
// line for each (../README.md says what is in it).
//
// usage: node run.js PORT STATEMENTS.json
'use strict';

const fs = require('fs');
const { Connection, Request } = require('tedious');

const sized = { Char: 'char', VarChar: 'varchar', Binary: 'binary',
  VarBinary: 'varbinary', NChar: 'nchar', NVarChar: 'nvarchar' };
const plain = { Bit: 'bit', TinyInt: 'tinyint', SmallInt: 'smallint', Int: 'int',
  BigInt: 'bigint', Real: 'real', Float: 'float', SmallMoney: 'smallmoney',
  Money: 'money', Date: 'date', DateTime: 'datetime',
  SmallDateTime: 'smalldatetime', UniqueIdentifier: 'uniqueidentifier',
  Text: 'text', NText: 'ntext', Image: 'image', Variant: 'sql_variant',
  Xml: 'xml', UDT: 'udt', Null: 'null' };
const scaled = { Time: 'time', DateTime2: 'datetime2',
  DateTimeOffset: 'datetimeoffset' };
const byLength = { IntN: { 1: 'tinyint', 2: 'smallint', 4: 'int', 8: 'bigint' },
  FloatN: { 4: 'real', 8: 'float' }, MoneyN: { 4: 'smallmoney', 8: 'money' },
  DateTimeN: { 4: 'smalldatetime', 8: 'datetime' }, BitN: { 1: 'bit' } };

// The name of a column's type as T-SQL has it.
function baseType(meta) {
  const name = meta.type.name;
  if (byLength[name]) {
    return byLength[name][meta.dataLength];
  }
  return sized[name] || scaled[name] || plain[name]
    || (/^Decimal/.test(name) ? 'decimal' : /^Numeric/.test(name) ? 'numeric'
      : 'unknown ' + name);
}

function typeOf(meta) {
  const base = baseType(meta);
  let size = '';
  if (sized[meta.type.name]) {
    const units = base[0] === 'n' ? meta.dataLength / 2 : meta.dataLength;
    size = meta.dataLength >= 65535 ? '(max)' : `(${units})`;
  } else if (base === 'decimal' || base === 'numeric') {
    size = `(${meta.precision},${meta.scale})`;
  } else if (scaled[meta.type.name]) {
    size = `(${meta.scale})`;
  }
  return base + size + (meta.flags & 1 ? ' null' : '');
}

function pad(number, digits) {
  return String(number).padStart(digits, '0');
}

function dayOf(date) {
  return `${pad(date.getUTCFullYear(), 4)}-${pad(date.getUTCMonth() + 1, 2)}-`
    + pad(date.getUTCDate(), 2);
}

// Hours to seconds, with as many digits of the fraction as there are.
function clockOf(date, digits) {
  const ticks = date.getUTCMilliseconds() * 10000
    + Math.round((date.nanosecondsDelta || 0) * 1e7);
  const fraction = pad(ticks, 7).slice(0, digits);
  return `${pad(date.getUTCHours(), 2)}:${pad(date.getUTCMinutes(), 2)}:`
    + pad(date.getUTCSeconds(), 2) + (digits ? '.' + fraction : '');
}

function dateText(value, base, scale) {
  switch (base) {
    case 'date': return dayOf(value);
    case 'time': return clockOf(value, scale);
    case 'datetime': return `${dayOf(value)} ${clockOf(value, 3)}`;
    case 'smalldatetime': return `${dayOf(value)} ${clockOf(value, 0)}`;
    default: return `${dayOf(value)} ${clockOf(value, scale)}`;
  }
}

function textOf(value, meta) {
  const base = baseType(meta);
  if (value === null || value === undefined) {
    return null;
  }
  if (typeof value === 'boolean') {
    return value ? '1' : '0';
  }
  if (value instanceof Date) {
    return dateText(value, base, meta.scale);
  }
  if (Buffer.isBuffer(value)) {
    return '0x' + value.toString('hex').toUpperCase();
  }
  if (typeof value === 'number' && /money$/.test(base)) {
    return value.toFixed(4);
  }
  if (typeof value === 'number' && (base === 'decimal' || base === 'numeric')) {
    return value.toFixed(meta.scale);
  }
  return base === 'uniqueidentifier' ? value.toUpperCase() : String(value);
}

function connect(port) {
  const connection = new Connection({
    server: '127.0.0.1',
    authentication: { type: 'default',
      options: { userName: 'sa', password: 'x' } },
    options: { port: Number(port), encrypt: false, trustServerCertificate: true,
      requestTimeout: 60000, useColumnNames: false },
  });
  return new Promise((done, fail) => connection.connect(
    (problem) => problem ? fail(problem) : done(connection)));
}

function runOne(connection, statement) {
  const line = { id: statement.id, results: [], counts: [], messages: [] };
  const say = (message) => line.messages.push({ number: message.number,
    class: message.class, state: message.state, text: message.message });
  const count = (rows) => {
    if (rows !== undefined) {
      line.counts.push(rows);
    }
  };
  return new Promise((done) => {
    const request = new Request(statement.sql, () => {
      connection.off('infoMessage', say);
      connection.off('errorMessage', say);
      done(line);
    });
    connection.on('infoMessage', say);
    connection.on('errorMessage', say);
    request.on('columnMetadata', (columns) => line.results.push({
      columns: columns.map((meta) => ({ name: meta.colName,
        type: typeOf(meta) })), rows: [] }));
    request.on('row', (row) => line.results[line.results.length - 1].rows.push(
      row.map((cell) => textOf(cell.value, cell.metadata))));
    request.on('done', count);
    request.on('doneInProc', count);
    request.on('doneProc', count);
    connection.execSqlBatch(request);
  });
}

async function main() {
  const [port, file] = process.argv.slice(2);
  const connection = await connect(port);
  for (const statement of JSON.parse(fs.readFileSync(file))) {
    console.log(JSON.stringify(await runOne(connection, statement)));
  }
  connection.close();
}

main().catch((problem) => {
  console.error('run.js: ' + problem.stack);
  process.exit(1);
});
