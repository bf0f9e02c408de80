package engine

// Repeats has the last error of each key of a queue. It makes the retry of a repeated failure background work: Settle waits for what may
// still succeed, and an error that came twice is likely to come again. An actor that has one names it in Keeps.
type Repeats map[string]string

// Of returns the error of a sync for the queue: err itself the first time, and as a background Retry if the key had the same error before.
func (r Repeats) Of(key string, err error) error {
	if err == nil {
		delete(r, key)
		return nil
	}
	repeated := r[key] == err.Error()
	r[key] = err.Error()
	if repeated {
		return &Retry{Err: err, Background: true}
	}
	return err
}
