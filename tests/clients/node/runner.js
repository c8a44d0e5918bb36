// SPDX-License-Identifier: MIT
// tedious through the steps of steps.json against a tdsd that runs already.
//
// usage: node runner.js --port N --tls SETTING --cert FILE --control SOCKET
//          --steps FILE [--only GLOB]
//
// SETTING is false, true+trust, true+ca or strict+ca.  Prints "ok STEP" or "not
// ok STEP: why" for each step, and "N passed, N failed" last.
'use strict';

const fs = require('fs');
const net = require('net');
const { Session } = require('./session.js');
const { steps } = require('./steps.js');

const LIMIT_MS = 40000;

function readArguments(argv) {
  const args = { only: '*' };
  for (let i = 2; i + 1 < argv.length; i += 2) {
    args[argv[i].replace(/^--/, '')] = argv[i + 1];
  }
  return args;
}

// One command to tdsd's control socket; its answer.
function control(args, command) {
  return new Promise((done, fail) => {
    let answer = '';
    const socket = net.connect(args.control, () => socket.write(command + '\n'));
    socket.on('data', (bytes) => {
      answer += bytes;
      if (answer.includes('\n')) {
        socket.destroy();
        done(answer.trim());
      }
    });
    socket.on('error', fail);
  });
}

// A GLOB whose only special sign is the star.
function matches(glob, name) {
  const parts = glob.split('*').map(
    (part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp('^' + parts.join('.*') + '$').test(name);
}

// What the steps get: a session shared by those that leave it whole.
class Bench {
  constructor(args) {
    this.args = args;
    this.script = JSON.parse(fs.readFileSync(args.steps));
    this.shared = null;
  }

  async session() {
    if (this.shared === null || this.shared.ended) {
      this.shared = await this.open();
    }
    return this.shared;
  }

  open(extra) {
    return Session.open(this.args, extra);
  }

  async control(command) {
    return JSON.parse(await control(this.args, command));
  }

  async drop() {
    if (this.shared !== null && !this.shared.ended) {
      this.shared.connection.close();
    }
    this.shared = null;
  }
}

function within(promise) {
  let timer;
  return Promise.race([promise, new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error('no end in sight')), LIMIT_MS);
  })]).finally(() => clearTimeout(timer));
}

async function main() {
  const bench = new Bench(readArguments(process.argv));
  let passed = 0, failed = 0;
  for (const [name, step] of steps(bench.script)) {
    if (!matches(bench.args.only, name)) {
      continue;
    }
    try {
      await within(step(bench));
      console.log('ok ' + name);
      passed++;
    } catch (problem) {
      const text = String(problem && problem.message).split('\n')[0];
      console.log('not ok ' + name + ': ' + text.slice(0, 300));
      failed++;
      await bench.drop();
    }
  }
  await bench.drop();
  console.log(passed + ' passed, ' + failed + ' failed');
  process.exit(0);
}

main();
