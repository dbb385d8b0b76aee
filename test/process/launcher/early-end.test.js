import assert from 'node:assert/strict'
import { once } from 'node:events'
import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { makeDirectory, removeDirectory } from '../../services/directory.js'

/** @typedef {import('node:child_process').ChildProcess} Child */

/** Moments at which the launcher dies. @type {Record<string, (child: Child) => unknown>} */
const MOMENTS = {
  'while it loads': () => {},
  'while it waits for Redis': (child) => once(child, 'message')
}

// the launcher forks them like this; node:cluster ends the others itself
for (const role of ['gateway', 'ingest']) {
  for (const [when, moment] of Object.entries(MOMENTS)) {
    test(`${role}: if the launcher dies ${when}, it ends and leaves nothing`, { timeout: 60_000 }, async (t) => {
      const directory = makeDirectory('run')
      t.after(() => removeDirectory(directory))
      const child = fork(fileURLToPath(new URL(`../../../src/${role}.js`, import.meta.url)), [], {
        env: {
          PATH: process.env.PATH,
          INKCAST_ENV_FILE: '',
          INKCAST_RUN_DIRECTORY: directory,
          INKCAST_RELAY: '1',
          INKCAST_SOCKETS: '1',
          // it would wait for them
          REDIS_URL: 'redis://127.0.0.1:1',
          KAFKA_BROKERS: '127.0.0.1:1'
        },
        stdio: ['ignore', 'ignore', 'ignore', 'ipc']
      })
      t.after(() => child.kill('SIGKILL'))
      const ended = once(child, 'exit')
      await moment(child)
      child.disconnect()
      assert.deepEqual(await ended, [0, null])
      assert.equal(existsSync(directory), false)
    })
  }
}
