package envoy

import (
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// smallMessage is up to how many bytes a message is taken to have smallValues values:
// it cannot have many more, and most messages are small.
const (
	smallMessage = 1 << 10
	smallValues  = 64
)

// maxNesting is how deep messages may nest. Metadata of a proxy has about ten levels.
const maxNesting = 100

// manyValues is more than any limit.
const manyValues = 1 << 30

// countValues is the number of fields that a check has, at all levels, without decoding
// it: the memory of a decoded message depends on their number more than on its length.
// A message that is malformed counts as far as it can be read.
func countValues(data []byte) int {
	if len(data) <= smallMessage {
		return smallValues
	}
	return countFields(data, (*authv3.CheckRequest)(nil).ProtoReflect().Descriptor().Fields(), maxNesting)
}

func countFields(data []byte, fields protoreflect.FieldDescriptors, depth int) int {
	if depth == 0 {
		return manyValues
	}
	count := 0
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return count
		}
		data = data[n:]
		size := protowire.ConsumeFieldValue(number, kind, data)
		if size < 0 {
			return count
		}
		count++
		if kind == protowire.BytesType {
			if field := fields.ByNumber(number); field != nil && field.Message() != nil {
				inner, _ := protowire.ConsumeBytes(data)
				count += countFields(inner, field.Message().Fields(), depth-1)
			}
		}
		data = data[size:]
	}
	return count
}
