package decision

import (
	"context"
	"iter"
)

// Stream writes the answer to a visibility request with streamed items, as lines of
// JSON: the authorization; then {"visible":[...]} with indexes of items in order, each
// time Chunk of them are known; last the aggregations and metrics. A line with an
// "error" ends an incomplete answer, so that a client can detect one by its last line.
type Stream struct {
	// Chunk is how many indexes a line holds at most.
	Chunk int
	// Write is called with each line, which it must not retain.
	Write func(line []byte) error

	line    []byte
	visible []int
}

// CodeEvaluationError is the code of an error that ends the answer to a valid request.
const CodeEvaluationError = "evaluation_error"

// Run writes the answer to r, with an authorization that p returned. The error is one
// of items or of Write; an evaluation error is part of the decision.
func (s *Stream) Run(ctx context.Context, p Policies, r *VisibilityRequest, a Authorization, items iter.Seq2[Item, error]) (VisibilityDecision, error) {
	if err := s.put(func(b []byte) []byte { return a.AppendJSON(b) }); err != nil {
		return VisibilityDecision{Authorization: a}, err
	}
	d, err := p.FilterItems(ctx, r, a, items, s.show)
	if err != nil {
		return d, err
	}
	if d.EvaluationError != "" && a.EvaluationError == "" {
		return d, s.Refuse(&InvalidRequest{Code: CodeEvaluationError, Message: d.EvaluationError})
	}
	if err := s.Flush(); err != nil {
		return d, err
	}
	return d, s.put(d.appendLastLine)
}

// Refuse ends the answer with a line that contains err. It returns an error if writing
// fails.
func (s *Stream) Refuse(err error) error {
	return s.put(func(b []byte) []byte { return append(b, AsInvalidRequest(err).Body()...) })
}

func (s *Stream) show(index int) error {
	s.visible = append(s.visible, index)
	if len(s.visible) < s.Chunk {
		return nil
	}
	return s.Flush()
}

// Flush writes the pending indexes as a line. It returns an error if writing fails.
func (s *Stream) Flush() error {
	if len(s.visible) == 0 {
		return nil
	}
	err := s.put(func(b []byte) []byte {
		return append(appendInts(append(b, `{"visible":`...), s.visible), '}')
	})
	s.visible = s.visible[:0]
	return err
}

func (s *Stream) put(appendTo func([]byte) []byte) error {
	s.line = append(appendTo(s.line[:0]), '\n')
	return s.Write(s.line)
}
