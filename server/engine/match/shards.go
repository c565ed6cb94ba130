package match

import (
	"hash/maphash"
	"maps"
)

// shardCount is the number of maps that keys are distributed over: with a hundred
// thousand keys, a change copies about a hundred of them.
const shardCount = 1024

var shardSeed = maphash.MakeSeed()

// shards is an immutable map. An edit creates another one, which shares the maps that
// the edit did not change.
type shards[K comparable, V any] [shardCount]map[K]V

func shard[K comparable](key K) uint64 { return maphash.Comparable(shardSeed, key) % shardCount }

func (s *shards[K, V]) find(key K) (V, bool) {
	value, ok := s[shard(key)][key]
	return value, ok
}

// edit is a modifiable copy of shards.
type edit[K comparable, V any] struct {
	shards[K, V]
	own [shardCount]bool // the maps that are not shared
}

func (s *shards[K, V]) edit() *edit[K, V] { return &edit[K, V]{shards: *s} }

// owned returns the map of a key, which may be changed.
func (e *edit[K, V]) owned(key K) map[K]V {
	i := shard(key)
	if !e.own[i] {
		e.own[i] = true
		if e.shards[i] = maps.Clone(e.shards[i]); e.shards[i] == nil {
			e.shards[i] = make(map[K]V)
		}
	}
	return e.shards[i]
}
