import { createProgram } from '../src/operate/cli/program.js'

/** docs/command.md: the help of each command as it is printed. */

/** As a terminal of this width shows it. */
const WIDTH = 100

const INTRODUCTION = `# The command inkcast

<!-- Generated from scripts/command-page.js and src/operate/cli/ by "npm run docs": do not edit. -->

\`inkcast\` starts inkcast, and helps to operate it. It comes with the package (\`npx inkcast\`); in a checkout, a copy and the \
container image it is \`node cluster.js\`.

| I want to | command |
|---|---|
| know what is wrong here before the start | \`inkcast check\` |
| know which value a setting has, and why | \`inkcast config\` |
| see what clients of a document get | \`inkcast tail\` |
| see where a record goes, and why it does not arrive | \`inkcast trace\`, [inspector](status.md#inspector) |
| try something out | \`inkcast publish\`, \`inkcast token\` |
| see whether this machine serves, and how much | \`inkcast status\`, [status page](status.md) |
| know how much it can take, and that nothing is lost | \`inkcast load\`, [load](load.md) |
| see more in the log without a restart | \`inkcast loglevel\` |
| take this machine out of service, or move its clients | \`inkcast cordon\`, \`inkcast move\`, \
[maintenance](operations/machines.md#maintenance-of-one-machine) |

- **Settings** come from the environment, then from \`--config FILE\`; without that option from \`.env\` in the current folder. Wrong \
values stop the start. An unknown
  name stops it only in a file of \`--config\`: the environment and \`.env\` may have variables of other programs as well. Roles that are \
started alone (\`node src/gateway.js\`) or by PM2 read \`.env\` too. Values of \`.env\` are not copied to \`process.env\`. \
\`INKCAST_ENV_FILE\` names a file to read in place of \`.env\`; an empty value means no file.
- **Exit codes**: 0 done; 1 failed, or found a problem; 2 wrong arguments. Errors are one line on standard error.
- **Colors** on a terminal only; \`NO_COLOR\` and \`FORCE_COLOR\` are respected. \`--json\` is for programs; fields may be added.
- **Tokens**: \`publish\` uses the first token of \`API_TOKENS\`. \`status\`, \`trace\`, \`loglevel\`, \`cordon\` and \`move\` use \
\`ADMIN_TOKEN\`. \`tail\` signs a token for itself if
  \`AUTH_JWT_SECRET\` is set. So with the settings of inkcast, on its machine, these commands need no token as an argument. For a \
self-signed certificate set \`NODE_EXTRA_CA_CERTS\`.

A machine with five things wrong:

\`\`\`text
$ inkcast check
error    settings  LOG_LEVEL=loud: must be one of fatal, error, warn, info, debug, trace, silent
                   → correct LOG_LEVEL (.env); inkcast config LOG_LEVEL shows it
error    ports     API_PORT: port 3001 is in use
                   → stop what uses it (ss -ltnp 'sport = :3001'), or set API_PORT to a free one
error    redis     Redis cannot be used at 10.0.0.5:6379 (REDIS_URL): connect ECONNREFUSED 10.0.0.5:6379
                   → start Redis, or correct REDIS_URL: address, port, TLS (rediss://), user and password, firewall
error    kafka     Kafka cannot be used at 10.0.0.6:9092 (KAFKA_BROKERS): connect ECONNREFUSED 10.0.0.6:9092
                   → start Kafka, or correct KAFKA_BROKERS, KAFKA_SSL and KAFKA_SASL_…; brokers must advertise an address that this \
machine reaches
warning  machine   nofile is 1024, 63226 or more is needed: each connection needs a descriptor, in a balancer two: connections above the \
limit are refused
                   → systemctl edit <service>: LimitNOFILE=1048576; in a shell: ulimit -Hn 1048576 && ulimit -n 63226 (as root) \
(docs/kernel.md)

4 errors, 1 warning
\`\`\`
`

/** @returns {string} the page */
export function commandPage () {
  const program = createProgram()
  return [
    INTRODUCTION.trim(),
    ...[program, ...program.commands].map((command) =>
      `## ${command === program ? 'inkcast' : `inkcast ${command.name()}`}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\``)
  ].join('\n\n') + '\n'
}

/** @param {import('commander').Command} command @returns {string} its help */
function helpOf (command) {
  let text = ''
  command.configureOutput({
    writeOut: (part) => { text += part },
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false
  })
  command.outputHelp()
  return text.trim()
}
