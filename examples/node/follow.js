/**
 * Follows a document and prints its records. Its position in the log is stored in a file, so that the program resumes
 * there after a restart.
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
doc.on('joined', ({ position }) => {
  if (load() === null) save(position) // the first time: a restart must not miss records from here on
})
doc.on('message', (payload, { epoch, offset }) => {
  console.log(JSON.stringify({ offset, payload }))
  // save after processing: a record that a crash interrupts is sent again. doc.position would be ahead, because it
  // includes records that are still held
  if (epoch !== undefined && offset !== undefined) save({ epoch, offset })
})
doc.on('resync', ({ position, reason }) => {
  console.error(`missed records are no longer in the log (${reason}): a service would read the document again`)
  save(position)
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
