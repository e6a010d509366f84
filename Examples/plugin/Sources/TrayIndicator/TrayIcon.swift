import Foundation
import IndicatorBackends

/// A colour such as `#3daee9`.
struct IconColor: Sendable, Hashable, CustomStringConvertible {
    var number: UInt32

    var description: String { "#" + String(0x100_0000 | number, radix: 16).dropFirst() }

    fileprivate var channels: SIMD3<Double> {
        SIMD3(Double(number >> 16 & 0xFF), Double(number >> 8 & 0xFF), Double(number & 0xFF))
    }
}

extension IconColor {
    init(_ text: String) throws {
        guard text.count == 7, text.first == "#", let number = UInt32(text.dropFirst(), radix: 16) else {
            throw SettingFault("a colour such as #3daee9")
        }
        self.init(number: number)
    }
}

/// Pictures for a tray: `a(iiay)`, each in two sizes.
enum TrayIcon {
    /// A ring that fades out, at a part of its turn; on a dark disc, because panels have any colour.
    static func spinner(_ color: IconColor, at turn: Double) -> BusValue {
        picture(IconColor(number: 0x202428), color) { x, y, cover in
            let behind = atan2(y, x) / (2 * .pi) - turn
            let ring = cover(0.08 - abs(hypot(x, y) - 0.32)) * (0.1 + 0.9 * (behind - behind.rounded(.down)))
            return (ring, cover(0.49 - hypot(x, y)) * max(ring, 0.7))
        }
    }

    /// An orange disc with an exclamation mark.
    static let attention = picture(IconColor(number: 0xF67400), IconColor(number: 0xFFFFFF)) { x, y, cover in
        let mark = min(0.06 - abs(x), max(0.18 - abs(y + 0.1), 0.06 - abs(y - 0.22)))
        return (cover(mark), cover(0.49 - hypot(x, y)))
    }

    /// - Parameter point: how much of the second colour, and of both, a point has. The middle of the picture is the
    ///   origin, and its width the unit, also for `cover`: how much of the point is in a figure, by its distance from
    ///   the edge.
    private static func picture(
        _ ground: IconColor,
        _ figure: IconColor,
        _ point: (Double, Double, (Double) -> Double) -> (figure: Double, all: Double)
    ) -> BusValue {
        let pictures = [22.0, 44].map { size -> [BusValue] in
            let units = stride(from: 0.5, to: size, by: 1).map { $0 / size - 0.5 }
            let bytes = units.flatMap { y in
                units.flatMap { x -> [UInt8] in
                    let (part, opacity) = point(x, y) { min(max($0 * size + 0.5, 0), 1) }
                    let color = ground.channels * (1 - part) + figure.channels * part
                    return [opacity * 255, color.x, color.y, color.z].map { UInt8($0) }
                }
            }
            return [.int32(Int32(size)), .int32(Int32(size)), .bytes(bytes)]
        }
        return .structures("iiay", pictures)
    }
}
