#!/usr/bin/env node
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keptSecret, lock } from './directory.js'
import { Documents } from './documents.js'
import { Events } from './events.js'
import { Figures } from './figures.js'
import { loadHook } from './hook.js'
import { Http } from './http.js'
import { Inkcast } from './inkcast.js'
import { createLog } from './log.js'
import { HELP, readSettings } from './settings.js'
import { Snapshots } from './snapshots.js'
import { Store } from './store.js'

/** @param {NonNullable<ReturnType<typeof readSettings>>} settings */
async function serve (settings) {
  const { host, port, hook, documents: bounds } = settings
  const directory = resolve(settings.directory)
  const log = createLog()
  const stopping = new AbortController()
  const check = await loadHook(hook, log)
  const store = new Store(directory)
  await store.start()
  const unlock = await lock(directory, {
    onLost () {
      log.error('another process stores documents here: this one did not run for too long, and ends without a write')
      process.exit(1)
    }
  })
  const secret = settings.secret ?? await keptSecret(directory)
  const inkcast = new Inkcast({ ...settings.api, signal: stopping.signal })
  const figures = new Figures(() => documents)
  const documents = new Documents({ store, inkcast, log, figures }, bounds)
  const events = new Events({ documents, check, figures })
  const http = new Http({ secret, events, documents, snapshots: new Snapshots(), figures, log })

  async function stop () {
    await http.stop()
    stopping.abort(new Error('the service stops'))
    await documents.stop()
    await unlock()
  }
  for (const name of /** @type {const} */ (['SIGTERM', 'SIGINT']))
    process.once(name, () => stop().then(() => process.exit(0), () => process.exit(1)))

  documents.start()
  const bound = await http.start(host, port)
  const shown = settings.secret === undefined ? `$(cat ${join(directory, 'secret')})` : '<as for this command>'
  console.log(`documents are in ${directory}; set at the gateway (docs/yjs.md):

export UPLINK_URL=http://${host.includes(':') ? `[${host}]` : host}:${bound}/events
export UPLINK_SECRETS=${shown}
export EXTENSIONS=${fileURLToPath(new URL('yjs.js', import.meta.url))}
`)
}

try {
  const settings = readSettings(process.argv.slice(2), process.env)
  if (settings === null) console.log(HELP)
  else await serve(settings)
} catch (error) {
  console.error(`inkcast-yjs-server: ${/** @type {Error} */ (error).message}`)
  process.exit(1)
}
