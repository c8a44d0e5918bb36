// SPDX-License-Identifier: MIT
// One tedious connection, with promises in place of its events.
'use strict';

const fs = require('fs');
const { Connection, Request } = require('tedious');

// tedious' options for how the check wants to connect: false, true or strict,
// then +trust (whatever certificate) or +ca (that file is the authority).
function tlsOptions(setting, cert) {
  const [encrypt, how] = setting.split('+');
  const options = {
    encrypt: encrypt === 'strict' ? 'strict' : encrypt === 'true',
    trustServerCertificate: how === 'trust',
  };
  if (how === 'ca') {
    options.cryptoCredentialsDetails = { ca: fs.readFileSync(cert) };
  }
  return options;
}

class Session {
  constructor(args, extra = {}) {
    const { login = {}, authentication, ...options } = extra;
    this.messages = [];
    this.errors = [];
    this.events = [];
    this.ended = false;
    this.connection = new Connection({
      server: '127.0.0.1',
      authentication: authentication || {
        type: 'default',
        options: { userName: 'sa', password: 'x', ...login },
      },
      options: {
        port: Number(args.port), connectTimeout: 20000, requestTimeout: 60000,
        lowerCaseGuids: true, serverName: 'localhost', ...tlsOptions(args.tls, args.cert), ...options,
      },
    });
    this.connection.on('infoMessage', (m) => {
      this.messages.push(m);
      this.events.push('message ' + m.message);
    });
    this.connection.on('errorMessage', (m) => this.errors.push(m));
    this.connection.on('error', () => { this.ended = true; });
    this.closed = new Promise((done) => this.connection.on('end', () => {
      this.ended = true;
      done();
    }));
  }

  static async open(args, extra) {
    const session = new Session(args, extra);
    await new Promise((done, fail) => session.connection.connect(
      (problem) => problem ? fail(problem) : done()));
    return session;
  }

  close() {
    this.connection.close();
    return this.closed;
  }

  // Makes a request whose results are collected; start(request) sends it.
  run(sql, start, fill = () => {}) {
    const answer = { results: [], outputs: {} };
    this.messages = [];
    this.errors = [];
    this.events = [];
    return new Promise((done, fail) => {
      const request = new Request(sql, (problem, count) => {
        answer.count = count;
        if (problem) {
          problem.answer = answer;
          fail(problem);
        } else {
          done(answer);
        }
      });
      this.collect(request, answer);
      fill(request);
      start(request);
    });
  }

  collect(request, answer) {
    request.on('columnMetadata', (columns) => {
      answer.results.push({ columns, rows: [] });
    });
    request.on('row', (row) => {
      const values = row.map((cell) => cell.value);
      answer.results[answer.results.length - 1].rows.push(values);
      this.events.push('row ' + values[0]);
    });
    request.on('returnValue', (name, value) => {
      answer.outputs[name] = value;
    });
  }

  batch(sql) {
    return this.run(sql, (request) => this.connection.execSqlBatch(request));
  }

  // parameters: [name, type, value, options, isOutput]...
  rpc(sql, parameters, timeout) {
    return this.run(sql, (request) => this.connection.execSql(request),
      (request) => {
        for (const [name, type, value, options, isOutput] of parameters) {
          if (isOutput) {
            request.addOutputParameter(name, type, value, options);
          } else {
            request.addParameter(name, type, value, options);
          }
        }
        if (timeout !== undefined) {
          request.setTimeout(timeout);
        }
      });
  }

  async scalar(sql) {
    return (await this.batch(sql)).results[0].rows[0][0];
  }

  // Calls one of the connection's methods that end in a callback.
  call(method, ...args) {
    return new Promise((done, fail) => this.connection[method](
      (problem) => problem ? fail(problem) : done(), ...args));
  }
}

module.exports = { Session };
