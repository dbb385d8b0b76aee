/**
 * What examples/react-native uses of its libraries, so that it is checked without them: react-native alone has 37 MB.
 * test/nightly/builds.test.js checks it with the libraries themselves.
 */

/** react-native 0.88.1: types_generated/Libraries/AppState/AppState.d.ts, Components/View/View.d.ts and so on */
declare module 'react-native' {
  import type { FunctionComponent, ReactNode, ReactElement } from 'react'
  export type AppStateStatus = 'inactive' | 'background' | 'active' | 'extension' | 'unknown'
  export const AppState: {
    currentState: string | null | undefined
    addEventListener<K extends 'change' | 'memoryWarning'> (
      type: K, handler: (...args: { change: [AppStateStatus], memoryWarning: [] }[K]) => void
    ): { remove (): void }
  }
  export const View: FunctionComponent<{ children?: ReactNode, style?: { flex?: number, padding?: number } }>
  export const Text: FunctionComponent<{ children?: ReactNode }>
  export const TextInput: FunctionComponent<{ value?: string, onChangeText?: (text: string) => void, placeholder?: string }>
  export const Button: FunctionComponent<{ title: string, onPress?: () => void, disabled?: boolean }>
  export function FlatList<Item> (props: {
    data: readonly Item[]
    keyExtractor?: (item: Item, index: number) => string
    renderItem: (info: { item: Item, index: number }) => ReactElement | null
  }): ReactElement
}

/** @react-native-community/netinfo 12.0.1: lib/typescript/src/index.d.ts, internal/types.d.ts */
declare module '@react-native-community/netinfo' {
  type State = { type: string, isConnected: boolean | null, isInternetReachable: boolean | null, details: object | null }
  const NetInfo: { addEventListener (listener: (state: State) => void): () => void }
  export default NetInfo
}

/** @react-native-async-storage/async-storage 2.2.0: lib/typescript/types.d.ts; 3.1.1 has the same in AsyncStorage.d.ts */
declare module '@react-native-async-storage/async-storage' {
  type Callback = (error?: Error | null) => void
  const AsyncStorage: {
    getItem (key: string, callback?: (error?: Error | null, result?: string | null) => void): Promise<string | null>
    setItem (key: string, value: string, callback?: Callback): Promise<void>
    removeItem (key: string, callback?: Callback): Promise<void>
    getAllKeys (callback?: (error?: Error | null, result?: readonly string[] | null) => void): Promise<readonly string[]>
  }
  export default AsyncStorage
}

/** expo 58.0.26: build/launch/registerRootComponent.d.ts */
declare module 'expo' {
  import type { ComponentType } from 'react'
  export function registerRootComponent (component: ComponentType): void
}
