import Foundation
import IndicatorBackends
import IndicatorCore
import NIOCore
import NIOPosix

/// An echo server on SwiftNIO that counts every connection as an activity.
///
/// Usage: `nio-server LOG-FILE`. The main thread blocks while the server runs; the indicator does not need it.
@main
struct NIOServer {
    static func main() throws {
        guard let path = CommandLine.arguments.dropFirst().first else {
            FileHandle.standardError.write(Data("usage: nio-server LOG-FILE\n".utf8))
            exit(64)
        }
        let indicator = IndicatorManager(
            backends: [LogFileBackend(applicationName: "nio-server", settings: .init(path: path))]
        )
        let server = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(EchoHandler(indicator: indicator))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .wait()
        print(server.localAddress?.port ?? 0)
        fflush(nil)  // needed if standard output is a file
        try server.closeFuture.wait()
    }
}

private final class EchoHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let indicator: IndicatorManager
    private var activity: ManagedActivity?

    init(indicator: IndicatorManager) {
        self.indicator = indicator
    }

    func channelActive(context: ChannelHandlerContext) {
        activity = ManagedActivity("Serving \(context.remoteAddress?.description ?? "a client")", in: indicator)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        activity?.end()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(data, promise: nil)
    }
}
