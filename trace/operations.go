package trace

// OperationRetry is the Reason of a Retry entry about an operation.
const OperationRetry = "operation"
