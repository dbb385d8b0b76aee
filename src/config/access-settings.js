import { fileURLToPath } from 'node:url'
import * as v from 'valibot'
import { LOG_LEVELS } from '../base/common/log-level.js'
import { string } from '../base/common/schema.js'
import { block, choice, described, flag, list, listOf, longText, pemFiles, port, text, url } from './setting.js'

const adminToken = () => described(
  'text without spaces, at least 16 characters',
  v.pipe(string(), v.regex(/^\S{16,}$/, 'must have at least 16 characters, and no space'))
)

/** @typedef {{ url: string, file?: undefined } | { file: string, url?: undefined }} PublicKeys a key set, or one key */

const publicKeys = v.pipe(
  url('https:', 'http:', 'file:'),
  v.check((text) => !text.startsWith('file:') || /^file:\/\/\/[^?#]+$/.test(text), 'must have three slashes and the path after file:'),
  v.transform((text) => /** @type {PublicKeys} */ (text.startsWith('file:') ? { file: fileURLToPath(text) } : { url: text }))
)

const headerNames = v.pipe(
  listOf((name) => /^[A-Za-z0-9-]{1,64}$/.test(name), 'must be names of headers: letters, digits and -'),
  v.transform((names) => [...new Set(names.map((name) => name.toLowerCase()))]),
  v.maxLength(20)
)

export const auth = block('Authentication', {
  AUTH_JWT_SECRET: {
    as: 'secret',
    type: longText(32, ' (RFC 7518, 3.2)'),
    secret: true,
    describe: 'Shared secret of HS256, HS384 or HS512 tokens.'
  },
  AUTH_JWKS_URL: {
    as: 'keys',
    type: publicKeys,
    describe:
      'URL of the token issuer\'s key set; fetched again every 10 minutes, and when a token names an unknown key. Or ' +
      '`file:///etc/inkcast/issuer.pem`: one public key as a PEM file.'
  },
  AUTH_JWT_ISSUER: {
    as: 'issuers',
    type: list(),
    default: '',
    describe:
      'Accepted issuers, comma separated. The `iss` of a token must be exactly one of them. Default: any issuer, also tokens without `iss`.'
  },
  AUTH_JWT_AUDIENCE: {
    as: 'audiences',
    type: list(),
    default: '',
    describe:
      'Accepted audiences, comma separated. The `aud` of a token must name at least one of them. Default: any audience, also tokens ' +
      'without `aud`.'
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
      'Service that decides (by POST) whether a user may open a document, if the token has no `documents` claim. Default: with such a ' +
      'token the user may read and write every document.'
  },
  AUTH_CONNECT_URL: {
    as: 'connectUrl',
    type: url('https:', 'http:'),
    describe:
      'Address of your application, which gets a signed POST at the handshake of each client without a valid JWT, and answers who the ' +
      'user is (docs/auth.md). `UPLINK_SECRETS` sign the requests. Default: only JWTs open connections.'
  },
  AUTH_CONNECT_HEADERS: {
    as: 'connectHeaders',
    type: headerNames,
    default: 'cookie,authorization',
    describe: 'Headers of the handshake that `AUTH_CONNECT_URL` gets, comma separated.'
  },
  AUTH_COOKIE: {
    as: 'cookie',
    type: described(
      'name of a cookie',
      v.pipe(string(), v.regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/, 'must be the name of a cookie (RFC 6265, 4.1.1)'))
    ),
    describe:
      'Name of a cookie with the JWT, for clients that send no other token. The origin check is then mandatory: production does not ' +
      'start with `ALLOWED_ORIGINS=*`, and a handshake without an origin is not logged in by the cookie.'
  }
})

export const api = block('API', {
  API_HOST: { as: 'host', type: text(), default: '127.0.0.1', describe: 'Address of the api for business services.' },
  API_PORT: { as: 'port', type: port(), default: '3001', describe: 'Port of the HTTP api.' },
  GRPC_PORT: {
    as: 'grpcPort',
    type: port(),
    describe: 'Port of the gRPC api on `API_HOST` (docs/grpc.md), usually 50051. Not set: no gRPC.'
  },
  API_TOKENS: {
    as: 'tokens',
    type: list(),
    secret: true,
    default: '',
    describe:
      'Callers as `name:token`, comma separated, with all rights. Each sends `Authorization: Bearer <token>`. Production requires this ' +
      'setting or `API_CALLERS_FILE`. In development without both, callers over loopback need no token.'
  },
  API_CALLERS_FILE: {
    as: 'callersFile',
    type: text(),
    describe:
      'JSON file of callers with their credentials, rights and rates (docs/callers.md). It is read again when it changes. With a wrong ' +
      'file the start fails; a file that becomes wrong later is ignored.'
  },
  API_TLS_FILES: {
    as: 'tls',
    type: pemFiles('cert,key', 'cert,key,ca'),
    describe:
      'PEM files of the api, as `cert:<path>,key:<path>`; with them it speaks TLS only. With `ca:<path>`, the authorities that issue ' +
      'client certificates, callers may show one instead of a token (mTLS).'
  }
})

export const admin = block('Administration', {
  ADMIN_HOST: {
    as: 'host',
    type: text(),
    default: '127.0.0.1',
    describe: 'Address of `/metrics`, `/live`, `/ready` and the status page. If it is not a loopback address, set `ADMIN_TOKEN` as ' +
      'well: without it, changes are for requests over loopback only, and so are the figures of the status page without ' +
      '`ADMIN_READ_TOKEN`.'
  },
  ADMIN_PORT: {
    as: 'port',
    type: port(),
    default: '9100',
    describe: 'Port of `/metrics`, `/live`, `/ready` and the status page (docs/status.md).'
  },
  ADMIN_TLS_FILES: {
    as: 'tls',
    type: pemFiles('cert,key', 'cert,key,ca'),
    describe:
      'PEM files of `ADMIN_PORT`, as `cert:<path>,key:<path>`; with them it speaks TLS only. With `ca:<path>`, the authorities that ' +
      'issue client certificates, every client of `ADMIN_PORT` must show one (mTLS), health checks included.'
  },
  AGENT_PORT: {
    as: 'agentPort',
    type: port(),
    describe:
      'Port on `ADMIN_HOST` for HAProxy\'s `agent-check`, which reports this machine\'s load. Not set: disabled.'
  },
  ADMIN_TOKEN: {
    as: 'token',
    type: adminToken(),
    secret: true,
    describe:
      'Token for everything on `ADMIN_PORT`, also for changes (`PUT /loglevel`), as `Authorization: Bearer <token>`. Not set: in ' +
      'production nothing can be changed, in development changes are for requests over loopback only. So is `/status` (the figures of ' +
      'the status page), without `ADMIN_READ_TOKEN`. `/metrics`, `/live` and `/ready` need no token.'
  },
  ADMIN_READ_TOKEN: {
    as: 'readToken',
    type: adminToken(),
    secret: true,
    describe: 'Token for everything that only reads on `ADMIN_PORT`; changes need `ADMIN_TOKEN`.'
  },
  LOG_LEVEL: {
    as: 'logLevel',
    type: choice(...LOG_LEVELS),
    default: 'info',
    describe: 'Least severe level that is logged; can be changed while processes run (docs/operations/processes.md, Log).'
  },
  LIBRARY_VERSIONS: {
    as: 'libraryVersions',
    type: choice('checked', 'any'),
    default: 'checked',
    describe:
      '`checked`: inkcast starts only with the versions of libraries whose private parts it was checked with. `any`: it ' +
      'starts with other versions too, and warns; for a security fix of a library, until inkcast has it.'
  }
})
