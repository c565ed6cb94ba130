package decision

import (
	"context"
	"iter"
)

// Stream is the answer to a visibility request whose items come one by one, as
// lines of JSON: the authorization; {"visible":[...]} with indexes of items, in
// order, as often as there are enough of them; and last the aggregations and
// metrics. A line with an "error" ends an answer that is not whole, so that the
// last line tells whether it is.
type Stream struct {
	// Chunk is how many indexes a line holds at most.
	Chunk int
	// Write gets each line, which it must not keep.
	Write func(line []byte) error

	line    []byte
	visible []int
}

// CodeTrouble is the code of an error that ends a stream which was a request.
const CodeTrouble = "trouble"

// Run answers r by v and an authorization that v gave. The error is of items or of
// Write; trouble is part of the decision.
func (s *Stream) Run(ctx context.Context, v Viewer, r *VisibilityRequest, a Authorization, items iter.Seq2[Item, error]) (VisibilityDecision, error) {
	if err := s.put(func(b []byte) []byte { return a.AppendJSON(b) }); err != nil {
		return VisibilityDecision{Authorization: a}, err
	}
	d, err := v.Fill(ctx, r, a, items, s.show)
	if err != nil {
		return d, err
	}
	if d.Trouble == "" && d.Revision != a.Revision {
		d.Authorization = DenyVisibility("the policies changed while the items were read")
		d.Revision = a.Revision
	}
	if d.Trouble != "" && a.Trouble == "" {
		return d, s.Refuse(&InvalidRequest{Code: CodeTrouble, Message: d.Trouble})
	}
	if err := s.Flush(); err != nil {
		return d, err
	}
	return d, s.put(d.AppendNumbers)
}

// Refuse ends the answer with an error.
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

// Flush writes the indexes that are not yet out, as a line of their own.
func (s *Stream) Flush() error {
	if len(s.visible) == 0 {
		return nil
	}
	err := s.put(func(b []byte) []byte {
		return append(AppendInts(append(b, `{"visible":`...), s.visible), '}')
	})
	s.visible = s.visible[:0]
	return err
}

func (s *Stream) put(appendTo func([]byte) []byte) error {
	s.line = append(appendTo(s.line[:0]), '\n')
	return s.Write(s.line)
}
