/**
 * Follows a document and prints its records. Where it is in the log is kept in a file, so that it goes on there after a restart.
 *
 *   node examples/node/follow.js GUID [URL of the gateway] [file for the position]
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { connect } from 'inkcast/client'

const [guid = 'minutes', url = 'http://localhost:3000', file = `${guid}.position.json`] = process.argv.slice(2)

const client = connect(url, { token: process.env.TOKEN })
client.on('state', (state, reason) => console.error(state, reason?.message ?? ''))

const doc = await client.open(guid, { position: load() })
console.error(`${guid} is open`)
doc.on('message', (payload, { offset }) => {
  console.log(JSON.stringify({ offset, payload }))
  save(doc.position) // when it has been dealt with: what is lost in between comes again
})
doc.on('resync', ({ reason }) => {
  console.error(`what was missed is not in the log any more (${reason}): a service would read the document anew`)
  save(doc.position)
})
doc.on('closed', (error) => {
  console.error(error.message)
  process.exitCode = 1
  client.close()
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => client.close())

function load () {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

/** @param {import('inkcast/client').Position | null} position */
function save (position) {
  writeFileSync(`${file}.new`, JSON.stringify(position))
  renameSync(`${file}.new`, file)
}
