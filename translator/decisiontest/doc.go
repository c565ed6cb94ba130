// Package decisiontest is the kind of documents that state a request and the decision
// it must get. It must not know what a request is, and of decisions it knows the
// keys: requests are JSON objects here, and the decision point that runs the test reads
// them.
package decisiontest
