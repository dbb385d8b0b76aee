import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const { loadSync } = require('@grpc/proto-loader')

/**
 * Server reflection: tools such as grpcurl read the services and messages here. Names are those of the proto files.
 *
 * @typedef {import('./call.js').Endpoint} Endpoint
 */

const PROTO = fileURLToPath(new URL('reflection.proto', import.meta.url))
const SERVICE = 'grpc.reflection.v1.ServerReflection'
const NOT_FOUND = 5
/** A question has one name, and comes back with the answer. */
const MAX_BYTES = 1024

/**
 * @param {string[]} protos paths of the files that it describes
 * @returns {[path: string, endpoint: Endpoint][]} of both versions
 */
export function reflectionEndpoints (protos) {
  const answerTo = describe([...protos, PROTO])
  const method = /** @type {any} */ (loadSync(PROTO))[SERVICE].ServerReflectionInfo
  /** @type {Endpoint} */
  const endpoint = {
    operation: 'reflection', method, streams: true, maxBytes: MAX_BYTES,
    serve: (call, { signal }) => answer(call, answerTo, signal)
  }
  return ['v1', 'v1alpha'].map((version) => [method.path.replace('.v1.', `.${version}.`), endpoint])
}

/**
 * Takes the next question when the client has read the answers before it.
 *
 * @param {import('./call.js').Call} call
 * @param {(question: any) => object} answerTo
 * @param {AbortSignal} signal ends the stream
 * @returns {Promise<void>}
 */
const answer = (call, answerTo, signal) => new Promise((resolve) => {
  call.on('message', (question) => { if (!call.write(answerTo(question))) call.pause() })
  call.on('drain', () => call.resume())
  for (const event of ['end', 'close']) call.on(event, () => resolve())
  signal.addEventListener('abort', () => resolve())
})

/** @param {string[]} protos @returns {(question: any) => object} */
function describe (protos) {
  /** Descriptors by name of the file. @type {Map<string, Buffer>} */
  const files = new Map()
  /** Descriptors by name of a service or message, and of what is in it. @type {Map<string, Buffer>} */
  const symbols = new Map()
  /** @type {{ name: string }[]} */
  const services = []
  for (const path of protos) {
    for (const [name, given] of Object.entries(loadSync(path, { keepCase: true }))) {
      const entry = /** @type {any} */ (given)
      const isService = entry.fileDescriptorProtos === undefined
      if (isService) services.push({ name })
      const [file] = (isService ? Object.values(entry)[0].requestType : entry).fileDescriptorProtos
      files.set(nameOf(file), file)
      const inner = isService ? Object.keys(entry) : (entry.type.field ?? []).map((/** @type {any} */ one) => one.name)
      for (const symbol of [name, ...inner.map((/** @type {string} */ one) => `${name}.${one}`)]) symbols.set(symbol, file)
    }
  }

  return (question) => {
    const { host, fileByFilename, fileContainingSymbol, listServices } = question
    const about = { validHost: host, originalRequest: question }
    if (listServices !== undefined) return { ...about, listServicesResponse: { service: services } }
    const file = fileByFilename === undefined ? symbols.get(fileContainingSymbol) : files.get(fileByFilename)
    if (file !== undefined) return { ...about, fileDescriptorResponse: { fileDescriptorProto: [file] } }
    return { ...about, errorResponse: { errorCode: NOT_FOUND, errorMessage: 'there is no such file, symbol or extension' } }
  }
}

/** @param {Buffer} file a FileDescriptorProto, whose first field is its name (shorter than 128 bytes) */
const nameOf = (file) => file.subarray(2, 2 + file[1]).toString()
