import { runRole } from './role.js'
import { composeGateway } from './roles/gateway.js'

await runRole('gateway', composeGateway)
