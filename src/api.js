import { runRole } from './role.js'
import { composeApi } from './roles/api.js'

await runRole('api', composeApi)
