import { Client, credentials, loadPackageDefinition, Metadata } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { PROTO } from '../../src/services/api/grpc/rpcs.js'

/**
 * A client of the gRPC api.
 * @param {{ after: (stop: () => unknown) => void }} t closes it
 * @param {number} port
 * @param {string} [token]
 */
export function grpcClient (t, port, token) {
  const { Gateway } = /** @type {any} */ (loadPackageDefinition(loadSync(PROTO, { longs: Number }))).inkcast.v1
  const client = new Gateway(`127.0.0.1:${port}`, credentials.createInsecure())
  // client.close would be the rpc Close
  t.after(() => Client.prototype.close.call(client))
  const metadata = new Metadata()
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`)
  return {
    /**
     * @param {string} rpc
     * @param {object} [request]
     * @returns {Promise<any>} the response, or the error as `{ code, inkcast }`
     */
    call: (rpc, request = {}) => new Promise((resolve) => {
      client[rpc](request, metadata, (/** @type {any} */ error, /** @type {any} */ response) => {
        resolve(error === null ? response : { code: error.code, inkcast: error.metadata.get('inkcast-code')[0] })
      })
    }),
    /** @param {'PublishStream' | 'Events'} rpc */
    stream: (rpc) => client[rpc](metadata)
  }
}
