import { batchOperations } from './batch.js'
import { controlOperations } from './orders.js'
import { documentOperations } from './documents.js'
import { publishOperations } from './publications.js'
import { queryOperations } from './queries.js'
import { sessionOperations } from './sessions.js'
import { userOperations } from './users.js'

/**
 * All operations of the api. The HTTP server, openapi.json and docs/api.md follow this table.
 * @type {import('./operation.js').Operation[]}
 */
export const operations = [
  ...publishOperations, ...batchOperations, ...controlOperations, ...documentOperations, ...sessionOperations,
  ...userOperations, ...queryOperations
]
