import { z } from 'zod'
import { block, choice, flag, integer, list, port, text, url } from './setting.js'

export const auth = block('Authentication', {
  AUTH_JWT_SECRET: {
    as: 'secret',
    type: z.string().min(32, 'must have at least 32 characters (RFC 7518, 3.2)'),
    secret: true,
    describe: 'Shared secret of HS256, HS384 or HS512 tokens.'
  },
  AUTH_JWT_PUBLIC_KEY_FILE: {
    as: 'publicKeyFile',
    type: text(),
    describe: 'PEM public key of RS256, PS256, ES256 or EdDSA tokens.'
  },
  AUTH_JWKS_URL: {
    as: 'jwksUrl',
    type: url('https:', 'http:'),
    describe: 'URL of the token issuer\'s key set; fetched again when a token names an unknown key.'
  },
  AUTH_ALLOW_ANONYMOUS: {
    as: 'allowAnonymous',
    type: flag(),
    defaultText: '`true` if no key is set and not in production',
    describe: 'Allows connections without a token; each gets its own user id, which starts with `anonymous:`.'
  },
  AUTH_ACCESS_URL: {
    as: 'accessUrl',
    type: url('https:', 'http:'),
    describe:
      'Service that decides (by POST) whether a user may open a document, if the token has no `documents` claim. Default: every document may be read and written.'
  }
})

export const api = block('API', {
  API_HOST: { as: 'host', type: text(), default: '127.0.0.1', describe: 'Address of the api for business services.' },
  API_PORT: { as: 'port', type: port(), default: '3001', describe: 'Port of the HTTP api.' },
  GRPC_PORT: {
    as: 'grpcPort',
    type: port(),
    default: '50051',
    describe: 'Reserved for a gRPC api; not in use.'
  },
  API_TOKENS: {
    as: 'tokens',
    type: list(),
    secret: true,
    default: '',
    describe:
      'Callers as `name:token`, comma separated; each sends `Authorization: Bearer <token>`. Required in production; in development without tokens, callers on this machine need none.'
  }
})

export const admin = block('Administration', {
  ADMIN_HOST: {
    as: 'host',
    type: text(),
    default: '127.0.0.1',
    describe: 'Address of `/metrics`, `/live` and `/ready`.'
  },
  ADMIN_PORT: { as: 'port', type: port(), default: '9100', describe: 'Port of `/metrics`, `/live` and `/ready`.' },
  AGENT_PORT: {
    as: 'agentPort',
    type: port(),
    describe:
      'Port on `ADMIN_HOST` for HAProxy\'s `agent-check`, which reports this machine\'s load. Not set: disabled.'
  },
  AGENT_CAPACITY: {
    as: 'agentCapacity',
    type: integer(1, 10_000_000),
    default: '20000',
    describe: 'Connections per gateway worker at which the agent reports this machine as full.'
  },
  LOG_LEVEL: {
    as: 'logLevel',
    type: choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    describe: 'Least severe level that is logged.'
  },
  PRIVATE_HOOKS: {
    as: 'privateHooks',
    type: flag(),
    default: 'true',
    describe:
      'Whether private parts of libraries and of Node are used. `false` turns off every part that is not required: the same behavior, with more CPU and memory. The list is in docs/hooks.md.'
  }
})
