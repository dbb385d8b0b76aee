import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createProgram } from '../../src/operate/cli/program.js'
import { SETTINGS } from './settings.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))

/** Settings of the document service, of Node, and of SDKs. */
const NOT_OURS = /^(?:DOCUMENTS_UPLINK|NODE_OPTIONS|OTEL_\w+)$/

/** Checks of commands in the docs that tests do not run. @type {[RegExp, (...words: string[]) => void][]} */
export const COMMANDS = [
  [/^npm pack /, () => {}],
  [/^mkdir [\w./-]+$/, () => {}],
  [/^until \[ -f [\w./-]+ \]; do sleep [\d.]+; done$/, () => {}],
  [
    /^npm (?!install )(?:run )?(?:--silent )?(?<script>[\w:]+)/,
    (script) => { assert.ok(script === 'ci' || script in scripts, `unknown script ${script}`) }
  ],
  [/^eval "\$\(npm run --silent (?<script>\w+) env\)"$/, (script) => { assert.ok(script in scripts) }],
  [
    /^node (?<file>[\w./-]+\.js)/,
    (file) => { assert.ok(existsSync(ROOT + file), `there is no ${file}`) }
  ],
  [
    /^npx pm2 \w+ (?<file>[\w.]+)/,
    (file) => { assert.ok(existsSync(ROOT + file), `there is no ${file}`) }
  ],
  [
    /^npx esbuild (?<file>[\w./-]+)/,
    (file) => { assert.ok(existsSync(ROOT + file), `there is no ${file}`) }
  ],
  [
    /^export (?<settings>.+)$/,
    (settings) => {
      for (const [, name] of settings.matchAll(/(?:^|\s)([A-Z_]+)=/g))
        assert.ok(NOT_OURS.test(name) || SETTINGS.has(name), name)
    }
  ],
  [/^npm install (?<packages>[\w@/. -]+)$/, () => {}],
  [/^pip install inkcast$/, () => {}],
  [
    /^docker compose (?<profiles>(?:--profile \w+ )*)up/,
    (profiles) => {
      const text = readFileSync(`${ROOT}docker-compose.yml`, 'utf8')
      for (const [, name] of profiles.matchAll(/--profile (\w+)/g)) assert.ok(text.includes(`profiles: [${name}]`), name)
    }
  ],
  // test/integration/prefixes.test.js runs it
  [/^redis-cli ACL SETUSER \w+ /, () => {}],
  [/^redis-cli bgsave$/, () => {}],
  [/^kafka-configs\.sh --bootstrap-server \S+ --alter /, () => {}],
  [/^docker (?:build -t \S+ \.|push \S+)$/, () => {}],
  [/^kubectl (?:-n \w+ )?create (?:namespace|secret generic) \w+( --from-literal=[A-Z_]+=\S+)*$/, () => {}],
  [
    /^kubectl apply -[fk] (?<path>[\w/.-]+)/,
    (path) => { assert.ok(existsSync(ROOT + path), `there is no ${path}`) }
  ],
  [
    /^helm install \w+ (?<chart>[\w/]+) /,
    (chart) => { assert.ok(existsSync(`${ROOT}${chart}/Chart.yaml`), `there is no ${chart}`) }
  ],
  [
    /^python3 -m http\.server \d+ --directory (?<folder>[\w/]+)$/,
    (folder) => { assert.ok(existsSync(ROOT + folder), `there is no ${folder}`) }
  ],
  [
    /^grpcurl .* inkcast\.v1\.Gateway\/(?<rpc>\w+)$/,
    (rpc) => {
      assert.match(readFileSync(`${ROOT}src/services/api/grpc/inkcast.proto`, 'utf8'), new RegExp(`\\brpc ${rpc}\\(`))
    }
  ],
  [
    /^python -m grpc_tools\.protoc -I (?<folder>[\w/]+) .* (?<file>\w+\.proto)$/,
    (folder, file) => {
      assert.ok(existsSync(`${ROOT}${folder}/${file}`), `there is no ${folder}/${file}`)
    }
  ],
  [/^(?:npx )?inkcast(?: (?<command>[a-z]+))?/, (command = 'start') => {
    assert.ok(createProgram().commands.some((one) => one.name() === command), `unknown command ${command}`)
  }],
  [/^kill -(?:HUP|USR2) /, () => {}],
  // run by test/process/tls/page.test.js
  [/^(?:openssl |TLS_FILES=cert\.pem |curl --cacert |mv new\.pem |sleep 2$)/, () => {}]
]
