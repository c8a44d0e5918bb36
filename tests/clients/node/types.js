// SPDX-License-Identifier: MIT
// Values of steps.json as tedious takes and gives them.
'use strict';

const { TYPES } = require('tedious');

const PLAIN = {
  bit: TYPES.Bit, tinyint: TYPES.TinyInt, smallint: TYPES.SmallInt,
  int: TYPES.Int, bigint: TYPES.BigInt, real: TYPES.Real, float: TYPES.Float,
  decimal: TYPES.Decimal, numeric: TYPES.Numeric, money: TYPES.Money,
  smallmoney: TYPES.SmallMoney, char: TYPES.Char, varchar: TYPES.VarChar,
  nchar: TYPES.NChar, nvarchar: TYPES.NVarChar, binary: TYPES.Binary,
  varbinary: TYPES.VarBinary, date: TYPES.Date, time: TYPES.Time,
  datetime: TYPES.DateTime, smalldatetime: TYPES.SmallDateTime,
  datetime2: TYPES.DateTime2, datetimeoffset: TYPES.DateTimeOffset,
  uniqueidentifier: TYPES.UniqueIdentifier, text: TYPES.Text,
  ntext: TYPES.NText, image: TYPES.Image,
};

// 'decimal(9,2)' as { base, args: ['9', '2'] }.
function parse(name) {
  const [, base, args] = /^(\w+)(?:\((.*)\))?$/.exec(name);
  return { base, args: args ? args.split(',') : [] };
}

// What addParameter wants for a type of steps.json: [type, options].
function declare(name) {
  const { base, args } = parse(name);
  const options = {};
  if (/^(decimal|numeric)$/.test(base)) {
    options.precision = Number(args[0]);
    options.scale = Number(args[1]);
  } else if (/^(time|datetime2|datetimeoffset)$/.test(base)) {
    options.scale = Number(args[0]);
  } else if (args.length > 0) {
    options.length = args[0] === 'max' ? Infinity : Number(args[0]);
  }
  return [PLAIN[base], options];
}

// A moment of UTC, also in the years that Date.UTC takes for 1900 and after.
function moment(text) {
  const [, y, mo, d, h, mi, s, fraction] =
    /^(?:(\d+)-(\d+)-(\d+))?(?: ?(\d+):(\d+):(\d+)(?:\.(\d+))?)?/.exec(text);
  const date = new Date(0);
  if (y !== undefined) {
    date.setUTCFullYear(Number(y), Number(mo) - 1, Number(d));
  }
  const digits = (fraction || '').padEnd(7, '0');
  date.setUTCHours(h || 0, mi || 0, s || 0, Number(digits.slice(0, 3)));
  date.nanosecondDelta = Number(digits.slice(3)) / 1e7;
  return date;
}

// The value to send for the text of steps.json.
function toNative(name, text) {
  const { base } = parse(name);
  if (text === null) {
    return null;
  }
  switch (base) {
    case 'bit':
      return text === '1';
    case 'bigint':
      return text;
    case 'tinyint': case 'smallint': case 'int': case 'real': case 'float':
    case 'decimal': case 'numeric': case 'money': case 'smallmoney':
      return Number(text);
    case 'binary': case 'varbinary': case 'image':
      return Buffer.from(text, 'hex');
    case 'date': case 'time': case 'datetime': case 'smalldatetime':
    case 'datetime2':
      return moment(text);
    case 'datetimeoffset': {
      const date = moment(text);
      const [, sign, h, m] = /([+-])(\d\d):(\d\d)$/.exec(text);
      const minutes = (Number(h) * 60 + Number(m)) * (sign === '-' ? -1 : 1);
      const utc = new Date(date.getTime() - minutes * 60000);
      utc.nanosecondDelta = date.nanosecondDelta;
      return utc;
    }
    default:
      return text;
  }
}

function pad(n, width) {
  return String(n).padStart(width, '0');
}

// yyyy-mm-dd of a Date.
function dayOf(date) {
  return pad(date.getUTCFullYear(), 4) + '-' + pad(date.getUTCMonth() + 1, 2) +
    '-' + pad(date.getUTCDate(), 2);
}

// hh:mm:ss of a Date, with so many digits of a second.
function clockOf(date, digits) {
  const delta = Math.round((date.nanosecondsDelta || 0) * 1e7);
  const fraction = pad(date.getUTCMilliseconds(), 3) + pad(delta, 4);
  return pad(date.getUTCHours(), 2) + ':' + pad(date.getUTCMinutes(), 2) + ':' +
    pad(date.getUTCSeconds(), 2) +
    (digits > 0 ? '.' + fraction.slice(0, digits) : '');
}

// The text of a received value, comparable with steps.json.
function toText(name, value) {
  const { base, args } = parse(name);
  if (value === null || value === undefined) {
    return null;
  }
  switch (base) {
    case 'bit':
      return value ? '1' : '0';
    case 'decimal': case 'numeric':
      return value.toFixed(Number(args[1]));
    case 'money': case 'smallmoney':
      return value.toFixed(4);
    case 'binary': case 'varbinary': case 'image':
      return value.toString('hex');
    case 'date':
      return dayOf(value);
    case 'time':
      return clockOf(value, Number(args[0]));
    case 'datetime':
      return dayOf(value) + ' ' + clockOf(value, 3);
    case 'smalldatetime':
      return dayOf(value) + ' ' + clockOf(value, 0);
    case 'datetime2':
      return dayOf(value) + ' ' + clockOf(value, Number(args[0]));
    case 'datetimeoffset':
      return dayOf(value) + ' ' + clockOf(value, Number(args[0])) + ' +00:00';
    case 'uniqueidentifier':
      return value.toLowerCase();
    default:
      return String(value);
  }
}

// What steps.json says about a value: its text, null, or a repetition.
function expected(value) {
  if (value !== null && typeof value === 'object') {
    return value.repeat.repeat(value.times);
  }
  return value;
}

// Whether two texts of a type are one value.
function same(name, a, b) {
  if (a !== null && b !== null && /^(real|float)$/.test(parse(name).base)) {
    return Number(a) === Number(b);
  }
  return a === b;
}

module.exports = { declare, expected, same, toNative, toText };
