package decision

// DataQuery asks for a value of the bundle as a stock OPA has it: a rule or data.
type DataQuery struct {
	// Path are the names below data.
	Path []string
	// Input is the input of rules; empty means that it is undefined.
	Input Value
	// Explain is the mode of the explanation: notes, fails, full or debug; empty
	// asks for no explanation. Pretty makes its lines readable.
	Explain string
	Pretty  bool
}

// DataAnswer is the answer to a DataQuery.
type DataAnswer struct {
	// Result is JSON, nil if the value is undefined; Undefined describes why it is then.
	Result    []byte
	Undefined string
	// Explanation is JSON, nil without a mode.
	Explanation []byte
	// Metrics are times in nanoseconds and counters by name.
	Metrics map[string]any
}
