import * as hooks from 'inkcast-react'

export const names = Object.keys(hooks)
