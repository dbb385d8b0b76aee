import { createKeys } from '../../../src/redis/keys.js'
import { Stream } from '../../../src/redis/store/types/stream.js'
import { userLog } from '../../../src/wire/publication.js'
import { OF_USERS } from '../parts/page.js'

const { documentLog } = createKeys()

/**
 * Publications that a Redis lacks when it becomes the master. With PUBLISH_WAIT it must have each one that was
 * acknowledged (docs/durability.md).
 *
 * @param {import('../../../src/redis/store/store.js').Store} store
 * @param {import('../parts/service.js').Service} service each of its records was accepted before the next one was sent
 * @returns {string[]} what is missing, as sentences
 */
export const missingPublications = ({ keyspace }, { accepted, process: { name } }) =>
  [...accepted].flatMap(([guid, number]) => {
    const record = JSON.stringify({ writer: name, number })
    const log = guid.startsWith(OF_USERS) ? userLog(guid.slice(OF_USERS.length)) : guid
    const entries = keyspace.find(documentLog(log), Stream)?.entries ?? []
    // the newest ones are at the end
    return entries.slice(-200).some(({ fields }) => fields.some((field) => field.includes(record))) ? []
      : [`record ${number} of ${guid} was acknowledged with PUBLISH_WAIT, and a failover has lost it`]
  })
