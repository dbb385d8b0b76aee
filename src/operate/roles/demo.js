import { folderOf } from '../../base/process/installed.js'

/**
 * The demo page, in development only: the package inkcast-demo, with what it uses of inkcast.
 *
 * @param {import('inkcast-demo').Services & { config: { production: boolean } }} services
 * @returns {Promise<import('inkcast-demo').Demo | undefined>} undefined: in production, and where the package is not
 *   installed, as in the image
 */
export async function loadDemo (services) {
  if (services.config.production || folderOf('inkcast-demo') === undefined) return undefined
  const [{ Demo }, inkcast] = await Promise.all([import('inkcast-demo'), import('./demo-parts.js')])
  return new Demo(inkcast, services)
}
