import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { PROTO } from '../../src/services/api/grpc/rpcs.js'
import { pythonEnvironment } from './python-environment.js'

/** gRPC for Python, whose client is generated from the proto: it shares no code with the server. */

const { python, lacks } = pythonEnvironment(['grpcio==1.80.0', 'grpcio-tools==1.80.0'])
const run = promisify(execFile)

export { lacks as lacksPythonGrpc }

/**
 * Generates the client.
 * @param {string} into a folder
 * @returns {Promise<{ python: string, env: Record<string, string> }>} the command that runs programs with it
 */
export async function generatePythonClient (into) {
  await mkdir(into, { recursive: true })
  await run(python, [
    '-m', 'grpc_tools.protoc', '-I', dirname(PROTO), `--python_out=${into}`, `--grpc_python_out=${into}`, PROTO
  ])
  return { python, env: { PYTHONPATH: into } }
}
