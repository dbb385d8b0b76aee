import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createKeys } from '../../../src/redis/keys.js'

const keys = createKeys()

/**
 * Keys in Redis that clients create, in src/redis/keys.js and in the table of docs/internals/redis-keys.md: each key of
 * one must be in the other.
 */

/** Keys of clients, as the table writes them. @type {Record<string, string[]>} */
const OF_CLIENTS = {
  userWorkers: [keys.userWorkers('<uid>')],
  userHolders: [keys.userHolders('<uid>')],
  workerUsers: [keys.workerUsers('<worker>.0').replace('<worker>.0', '<incarnation>')],
  workerDocuments: [keys.workerDocuments('<worker>.0').replace('<worker>.0', '<incarnation>')],
  documentHolders: [keys.documentHolders('<guid>')],
  emptyEpoch: [keys.emptyEpoch('<slot>')],
  documentPresence: keys.documentPresence('<guid>').filter((key) => !key.endsWith(':diffs')),
  documentLeft: keys.documentLeft('<guid>'),
  userSeen: [keys.userSeen('<uid>')],
  userDevice: [keys.userDevice('<uid>', '<id>')],
  clientSession: [keys.clientSession('<uid>', '<client>')],
  workerPresence: [keys.workerPresence(/** @type {any} */ ('<worker>'))],
  documentLog: [keys.documentLog('<guid>')],
  documentMeta: [keys.documentMeta('<guid>')],
  queueMarks: [keys.queueMarks('<guid>', '<uid>')],
  uplinkPart: Object.values(keys.uplinkPart('<stream>', /** @type {any} */ ('<part>')))
    .filter((key) => /:(?:log|meta|refused)$/.test(key)),
  uplinkQueueMarks: [
    keys.uplinkQueueMarks('<stream>', /** @type {any} */ ('<part>'), '<guid>', '<uid>')
      .replace(`:${'<guid>'.length}:`, ':<length>:')
  ]
}

/** Keys that only services or inkcast itself create, and channels, which take no memory. */
const OTHERS = [
  // records and requests of services
  'documentKeys', 'documentNewest', 'requestState', 'userOrders', 'userOrdered', 'workerOrders', 'orderReport',
  'receiptParts', 'receiptAnswer', 'workerReceipts', 'sourceMark', 'sourceHealing',
  // processes
  'nodeMarker', 'start', 'workers', 'reports', 'tenants', 'presenceForgotten', 'checkKey',
  // channels
  'documentChannel', 'workerChannel', 'everyoneChannel', 'watchesChannel', 'inspectChannel', 'echoChannel'
]

test('keys that clients create have a row each in internals/redis-keys.md, and the list of others has all others', () => {
  const page = readFileSync(new URL('../../../docs/internals/redis-keys.md', import.meta.url), 'utf8')
  const [, section] = page.split('\n## Keys in Redis\n')
  const documented = section.split('\n').filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...line.matchAll(/`(inkcast:[^`]+)`/g)].map(([, key]) => key))
  assert.deepEqual(documented.sort(), Object.values(OF_CLIENTS).flat().sort())
  assert.deepEqual([...Object.keys(OF_CLIENTS), ...OTHERS].sort(), Object.keys(keys).sort())
})
